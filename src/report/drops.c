/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a capture lost, in the same words for a capture, a recording, a file and its analysis. */
#include "wire/text.h"
#include <rdmadump/drops.h>
#include <rdmadump/units.h>

#define BEGINNING "dropped by rdmadump "

double rd_loss_percent(uint64_t lost, uint64_t delivered)
{
	double all = (double)lost + (double)delivered;

	return all > 0 ? (double)lost * 100 / all : 0;
}

/* Rounding must not print 100 % if a frame was delivered. */
static void put_percent(struct rd_line *t, double percent)
{
	if (percent < 0.01)
		rd_line_add(t, "less than 0.01 %%");
	else
		rd_line_add(t, "%.2f %%", percent < 100 && percent > 99.99 ? 99.99 : percent);
}

/* --- numbers -------------------------------------------------------------------------------- */

static void put_ours(struct rd_line *t, const struct rd_drops *d)
{
	char all[RD_UNITS_LEN], buffer[RD_UNITS_LEN], output[RD_UNITS_LEN];

	rd_line_add(t, BEGINNING "%s", rd_fmt_count(all, d->no_buffer + d->unwritten));
	if (d->unwritten)
		rd_line_add(t, " (buffer full %s, not written %s)",
			rd_fmt_count(buffer, d->no_buffer), rd_fmt_count(output, d->unwritten));
	if (d->too_long)
		rd_line_add(
			t, ", longer than the receive buffer %s", rd_fmt_count(all, d->too_long));
	rd_line_add(t, ", ");
}

static void put_known(struct rd_line *t, const struct rd_drops *d)
{
	char n[RD_UNITS_LEN];
	const char *separator = " (";

	rd_line_add(t, "%s", rd_fmt_count(n, d->device));
	if (d->device) {
		rd_line_add(t, " (");
		put_percent(t, rd_loss_percent(d->device, d->delivered));
		separator = "; ";
	}
	if (*d->counters)
		rd_line_add(t, "%s%s", separator, d->counters);
	if (d->device || *d->counters)
		rd_line_add(t, ")");
}

void rd_drops_text(const struct rd_drops *d, char out[RD_DROPS_TEXT])
{
	struct rd_line t = {out, RD_DROPS_TEXT, 0};
	char n[RD_UNITS_LEN];

	if (d->of != RD_DROPS_FILE)
		put_ours(&t, d);
	if (d->of != RD_DROPS_CAPTURE && !d->device_known && !d->device) {
		rd_line_add(&t, "the file does not say what the capture lost");
		return;
	}
	rd_line_add(
		&t, "dropped %s ", d->of == RD_DROPS_CAPTURE ? "by the device" : "when captured");
	if (d->device_known) {
		put_known(&t, d);
	} else {
		rd_line_add(&t, "unknown (%s)", d->why);
		if (d->counted || d->device)
			rd_line_add(&t, ", at least %s", rd_fmt_count(n, d->device));
	}
	if (d->unsettled)
		rd_line_add(&t,
			"; the wait for the loss counters was cut short: the last drops may be "
			"missing");
}

/* --- what the numbers mean ------------------------------------------------------------------ */

void rd_drops_scope(const struct rd_drops *d, char out[RD_DROPS_TEXT])
{
	struct rd_line t = {out, RD_DROPS_TEXT, 0};

	out[0] = '\0';
	if (d->of != RD_DROPS_CAPTURE || !*d->counters)
		return;
	if (d->device_known && !d->moved && !d->unsettled)
		rd_line_add(&t, "no loss counter moved");
	else if (d->scope == RD_DROPS_SHARED)
		rd_line_add(&t,
			"%s counts frames without a receive buffer on any queue pair of this "
			"function: neither an upper nor a lower bound of what the capture lacks",
			d->counters);
	else if (d->scope == RD_DROPS_EARLY)
		rd_line_add(&t, "%s counts frames before the filter, too", d->counters);
}

void rd_drops_sentence(const struct rd_drops *d, char out[2 * RD_DROPS_TEXT])
{
	struct rd_line t = {out, 2 * RD_DROPS_TEXT, 0};
	char text[RD_DROPS_TEXT], scope[RD_DROPS_TEXT];

	rd_drops_text(d, text);
	rd_drops_scope(d, scope);
	rd_line_add(&t, "%s%s%s", text, *scope ? "; " : "", scope);
}

bool rd_drops_is_sentence(const char *comment)
{
	return comment && !strncmp(comment, BEGINNING, strlen(BEGINNING));
}
