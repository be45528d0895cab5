/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a capture lost, as text: the same words for a capture, a recording, a file and its analysis.
 */
#include <rdmadump/drops.h>
#include <rdmadump/units.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BEGINNING "dropped by rdmadump "

/* Text that is appended to; cut off at the end of its buffer. */
struct text {
	char *out;
	size_t capacity, used;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->out + t->used, t->capacity - t->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used +=
			(size_t)n < t->capacity - t->used ? (size_t)n : t->capacity - t->used - 1;
}

double rd_loss_percent(uint64_t lost, uint64_t delivered)
{
	double all = (double)lost + (double)delivered;

	return all > 0 ? (double)lost * 100 / all : 0;
}

/* Rounding must not print 100 % if a frame was delivered. */
static void put_percent(struct text *t, double percent)
{
	if (percent < 0.01)
		put(t, "less than 0.01 %%");
	else
		put(t, "%.2f %%", percent < 100 && percent > 99.99 ? 99.99 : percent);
}

/* --- numbers -------------------------------------------------------------------------------- */

static void put_ours(struct text *t, const struct rd_drops *d)
{
	char all[RD_UNITS_LEN], buffer[RD_UNITS_LEN], output[RD_UNITS_LEN];

	put(t, BEGINNING "%s", rd_fmt_count(all, d->no_buffer + d->unwritten));
	if (d->unwritten)
		put(t, " (buffer full %s, not written %s)", rd_fmt_count(buffer, d->no_buffer),
			rd_fmt_count(output, d->unwritten));
	if (d->too_long)
		put(t, ", longer than the receive buffer %s", rd_fmt_count(all, d->too_long));
	put(t, ", ");
}

static void put_known(struct text *t, const struct rd_drops *d)
{
	char n[RD_UNITS_LEN];
	const char *separator = " (";

	put(t, "%s", rd_fmt_count(n, d->device));
	if (d->device) {
		put(t, " (");
		put_percent(t, rd_loss_percent(d->device, d->delivered));
		separator = "; ";
	}
	if (*d->counters)
		put(t, "%s%s", separator, d->counters);
	if (d->device || *d->counters)
		put(t, ")");
}

void rd_drops_text(const struct rd_drops *d, char out[RD_DROPS_TEXT])
{
	struct text t = {out, RD_DROPS_TEXT, 0};
	char n[RD_UNITS_LEN];

	if (d->of != RD_DROPS_FILE)
		put_ours(&t, d);
	if (d->of != RD_DROPS_CAPTURE && !d->device_known && !d->device) {
		put(&t, "the file does not say what the capture lost");
		return;
	}
	put(&t, "dropped %s ", d->of == RD_DROPS_CAPTURE ? "by the device" : "when captured");
	if (d->device_known) {
		put_known(&t, d);
	} else {
		put(&t, "unknown (%s)", d->why);
		if (d->counted || d->device)
			put(&t, ", at least %s", rd_fmt_count(n, d->device));
	}
	if (d->unsettled)
		put(&t, "; the wait for the loss counters was cut short: the last drops may be "
			"missing");
}

/* --- what the numbers mean ------------------------------------------------------------------ */

void rd_drops_scope(const struct rd_drops *d, char out[RD_DROPS_TEXT])
{
	struct text t = {out, RD_DROPS_TEXT, 0};

	out[0] = '\0';
	if (d->of != RD_DROPS_CAPTURE || !*d->counters)
		return;
	if (d->device_known && !d->moved && !d->unsettled)
		put(&t, "no loss counter moved");
	else if (d->scope == RD_DROPS_SHARED)
		put(&t,
			"%s counts frames without a receive buffer on any queue pair of this "
			"function: neither an upper nor a lower bound of what the capture lacks",
			d->counters);
	else if (d->scope == RD_DROPS_EARLY)
		put(&t, "%s counts frames before the filter, too", d->counters);
}

void rd_drops_sentence(const struct rd_drops *d, char out[2 * RD_DROPS_TEXT])
{
	struct text t = {out, 2 * RD_DROPS_TEXT, 0};
	char text[RD_DROPS_TEXT], scope[RD_DROPS_TEXT];

	rd_drops_text(d, text);
	rd_drops_scope(d, scope);
	put(&t, "%s%s%s", text, *scope ? "; " : "", scope);
}

bool rd_drops_is_sentence(const char *comment)
{
	return comment && !strncmp(comment, BEGINNING, strlen(BEGINNING));
}
