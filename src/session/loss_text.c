/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text about lost frames, for the report and for the file's comment. */
#include "session.h"
#include <rdmadump/units.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
static char *percent_text(char *buf, double percent)
{
	if (percent < 0.01)
		strcpy(buf, "less than 0.01 %");
	else
		snprintf(buf, RD_UNITS_LEN, "%.2f %%",
			percent < 100 && percent > 99.99 ? 99.99 : percent);
	return buf;
}

void rd_loss_reason(const struct rd_source_stats *st, char out[RD_LOSS_TEXT])
{
	if (st->missing && *st->missing) {
		snprintf(out, RD_LOSS_TEXT, "%s", st->missing);
		return;
	}
	for (unsigned int i = 0; i < st->n_loss; i++) {
		const struct rd_growth *growth = &st->loss[i].frames;
		const char *reason = rd_growth_reason(growth);

		if (reason) {
			snprintf(out, RD_LOSS_TEXT, "%s %s%s", st->loss[i].name, reason,
				growth->verdict == RD_GROWTH_RESET ? " during the capture" : "");
			return;
		}
	}
	snprintf(out, RD_LOSS_TEXT, "no counter reports it");
}

static void put_unknown(struct text *t, const struct rd_session *s, uint64_t least)
{
	char why[RD_LOSS_TEXT] = "", n[RD_UNITS_LEN];
	bool counted = false;

	for (unsigned int i = s->in.n; i-- > 0;) {
		const struct rd_source_stats *st = &s->in.stats[i];

		if (st->loss_known || s->in.follows[i])
			continue;
		rd_loss_reason(st, why);
		counted |= st->n_loss > 0;
	}
	put(t, "unknown (%s)", why);
	if (counted || least)
		put(t, ", at least %s", rd_fmt_count(n, least));
}

/* Every source has counters that were bound to it. */
static bool all_own(const struct rd_session *s)
{
	bool own = s->in.n > 0;

	for (unsigned int i = 0; i < s->in.n; i++)
		own &= s->in.stats[i].loss_own && s->in.stats[i].n_loss;
	return own;
}

static void put_known(struct text *t, const struct rd_session *s, uint64_t lost)
{
	const struct rd_source_stats *first = &s->in.stats[0];
	char n[RD_UNITS_LEN], percent[RD_UNITS_LEN];
	const char *separator = " (";

	put(t, "%s", rd_fmt_count(n, lost));
	if (lost) {
		put(t, " (%s",
			percent_text(percent, rd_loss_percent(lost, s->result.total.delivered)));
		separator = "; ";
	}
	for (unsigned int k = 0; k < first->n_loss; k++)
		put(t, "%s%s", k ? ", " : separator, first->loss[k].name);
	if (all_own(s))
		put(t, "; exact, own counter");
	if (lost || first->n_loss)
		put(t, ")");
}

void rd_session_loss_text(const struct rd_session *s, char out[RD_LOSS_TEXT])
{
	struct text t = {out, RD_LOSS_TEXT, 0};
	bool known;
	uint64_t lost = account_loss(s, &known);

	put(&t, "%s ", is_offline(s) ? "when it was captured" : "by the device");
	if (known)
		put_known(&t, s, lost);
	else
		put_unknown(&t, s, lost);
	if (!s->result.lost_settled)
		put(&t, "; the wait for the loss counters was cut short: the last drops may be "
			"missing");
}

void rd_session_loss_scope(const struct rd_session *s, char out[RD_LOSS_TEXT])
{
	struct text t = {out, RD_LOSS_TEXT, 0};
	unsigned int shared = 0;

	out[0] = '\0';
	while (shared < s->in.n && !(s->in.stats[shared].loss_shared && s->in.stats[shared].n_loss))
		shared++;
	if (all_own(s))
		put(&t, "out_of_buffer was bound to the capture's queue pair: it counts only the "
			"frames that found no receive buffer there, not what was discarded before");
	if (shared == s->in.n || is_offline(s))
		return;
	for (unsigned int k = 0; k < s->in.stats[shared].n_loss; k++)
		put(&t, "%s%s", k ? ", " : "", s->in.stats[shared].loss[k].name);
	put(&t, s->in.sources[shared]->ops->measure
			? " counts frames without a receive buffer on any queue pair of this "
			  "function: "
			  "neither an upper nor a lower bound of what the capture lacks"
			: " counts frames before the filter, too");
}

/* --- other counters of the port --------------------------------------------------------------- */

void rd_counter_change_text(const struct rd_counter_change *c, char *out, size_t size)
{
	const char *name = strrchr(c->name, '/'), *why = rd_growth_reason(&c->growth);
	char n[RD_UNITS_LEN];

	name = name ? name + 1 : c->name;
	if (c->is_level)
		snprintf(out, size, "%s %s", name, rd_fmt_count(n, c->value));
	else if (!rd_growth_known(&c->growth))
		snprintf(out, size, "%s %s", name, why);
	else
		snprintf(out, size, "%s +%s%s", name, rd_fmt_count(n, c->growth.amount),
			why ? " or more" : "");
}

void loss_related_text(const struct rd_session *s, char *out, size_t size)
{
	struct text t = {out, size, 0};

	out[0] = '\0';
	for (unsigned int i = 0; i < s->n_listed; i++) {
		for (unsigned int k = 0; k < s->listed[i].n_related; k++) {
			char one[96];

			rd_counter_change_text(&s->listed[i].related[k], one, sizeof(one));
			put(&t, "%s%s", t.used ? ", " : " Also counted: ", one);
		}
	}
	if (t.used)
		put(&t, ".");
}
