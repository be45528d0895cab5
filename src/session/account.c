/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The numbers of a whole capture: its totals, what was lost before it, the result. */
#include "session.h"
#include <rdmadump/units.h>
#include <stdio.h>
#include <string.h>

/* Frames that were delivered but came after the last file was full do not count. */
static struct rd_tally total(const struct rd_session *s)
{
	struct rd_tally t = rd_capture_total(&s->capture);

	t.delivered -= s->result.written.beyond;
	t.encoded -= s->result.written.beyond;
	return t;
}

/* Lost before the session, all sources; *known false if one of them does not know. */
static uint64_t loss_count(const struct rd_session *s, bool *known)
{
	uint64_t lost = 0;

	*known = true;
	for (unsigned int i = 0; i < s->in.n; i++) {
		lost += s->in.stats[i].lost;
		*known &= s->in.stats[i].loss_known || s->in.follows[i];
	}
	return lost;
}

void account_result(struct rd_session *s)
{
	struct rd_session_result *r = &s->result;

	r->end = s->capture.end;
	r->error = s->error;
	r->start_ns = s->capture.start_ns;
	r->end_ns = s->capture.end_ns;
	r->bytes = rd_capture_bytes(&s->capture);
	r->account = s->capture.account;
	for (unsigned int i = 0; i < RD_IFACES_MAX; i++)
		r->tally[i] = rd_capture_tally(&s->capture, i);
	r->total = total(s);
	r->n_outputs = s->out.n;
	for (unsigned int i = 0; i < s->out.n; i++)
		r->outputs[i] = s->out.list[i].written;
	r->dropped = r->total.dropped + r->written.unwritten;
	r->lost = loss_count(s, &r->lost_known);
	r->gaps = r->left_out = 0;
	for (unsigned int i = 0; i < s->in.n; i++) {
		r->gaps += s->in.stats[i].gaps;
		r->left_out += s->in.stats[i].left_out;
	}
}

/* --- loss ------------------------------------------------------------------------------- */

double rd_loss_percent(uint64_t lost, uint64_t delivered)
{
	double all = (double)lost + (double)delivered;

	return all > 0 ? (double)lost * 100 / all : 0;
}

/* 99.996 % are not all. */
static char *percent_text(char *buf, double percent)
{
	if (percent < 0.01)
		strcpy(buf, "less than 0.01 %");
	else
		snprintf(buf, RD_UNITS_LEN, "%.2f %%",
			percent < 100 && percent > 99.99 ? 99.99 : percent);
	return buf;
}

void rd_loss_reason(const struct rd_source_stats *st, char *out, size_t room)
{
	for (unsigned int i = 0; i < st->n_loss; i++) {
		const char *reason = rd_growth_reason(&st->loss[i].frames);

		if (reason) {
			snprintf(out, room, "%s %s", st->loss[i].name, reason);
			return;
		}
	}
	snprintf(out, room, "no counter reports it");
}

static void first_reason(const struct rd_session *s, char *out, size_t room)
{
	out[0] = '\0';
	for (unsigned int i = 0; i < s->in.n && !*out; i++)
		if (!s->in.stats[i].loss_known && !s->in.follows[i])
			rd_loss_reason(&s->in.stats[i], out, room);
}

/* Where the frames were lost. */
static const char *place(const struct rd_session *s)
{
	return is_offline(s) ? "when it was captured" : "by the device";
}

void rd_session_loss_text(const struct rd_session *s, char *out, size_t room)
{
	const struct rd_source_stats *first = &s->in.stats[0];
	char n[RD_UNITS_LEN], percent[RD_UNITS_LEN], why[80];
	bool known, upper = false;
	uint64_t lost = loss_count(s, &known);
	const char *separator = " (";
	size_t used;

	if (!known) {
		first_reason(s, why, sizeof(why));
		snprintf(out, room, "%s unknown (%s)", place(s), why);
		return;
	}
	used = (size_t)snprintf(out, room, "%s %s", place(s), rd_fmt_count(n, lost));
	if (lost && used < room) {
		used += (size_t)snprintf(out + used, room - used, " (%s",
			percent_text(percent, rd_loss_percent(lost, total(s).delivered)));
		separator = "; ";
	}
	for (unsigned int i = 0; i < s->in.n; i++)
		upper |= s->in.stats[i].loss_upper_bound && s->in.stats[i].lost;
	for (unsigned int k = 0; k < first->n_loss && used < room; k++)
		used += (size_t)snprintf(
			out + used, room - used, "%s%s", k ? ", " : separator, first->loss[k].name);
	if (used < room && (lost || first->n_loss))
		snprintf(out + used, room - used, "%s)",
			upper ? "; upper bound, the counter is shared" : "");
}
