/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Priorities, congestion control and pauses of a report as text. */
#include "layout.h"
#include "output.h"
#include <inttypes.h>

/* "DSCP 26 (3 packets with 0), CNPs 48, PCP 3, ECN ECT(0) CE"; of a side with packets. */
static void put_priority(const struct rd_priority *p, FILE *out)
{
	if (p->dscp < 0 && p->pcp < 0)
		return;
	fputs("      its packets:", out);
	if (p->dscp >= 0)
		fprintf(out, " DSCP %d", p->dscp);
	if (p->others)
		fprintf(out, " (%" PRIu64 " with others, as %d)", p->others, p->other_dscp);
	if (p->cnp_dscp >= 0)
		fprintf(out, ", of CNPs %d", p->cnp_dscp);
	if (p->pcp >= 0)
		fprintf(out, ", PCP %d%s%s", p->pcp, p->pcp_varies ? " and others" : "",
			p->untagged ? ", some without a tag" : "");
	if (p->dscp >= 0) {
		fputs(", ECN", out);
		for (unsigned int i = 0; ecn_name(i); i++)
			if (p->ecn >> i & 1)
				fprintf(out, " %s", ecn_name(i));
	}
	if (p->class >= 0)
		fprintf(out, ", priority %d by the port's settings, %s PFC", p->class,
			p->pfc >> p->class & 1 ? "with" : "without");
	fputc('\n', out);
}

static void put_latency(const char *name, const struct rd_latency *l, FILE *out)
{
	char p50[RD_UNITS_LEN], p99[RD_UNITS_LEN], min[RD_UNITS_LEN];

	if (l->n)
		fprintf(out, "      %s: %s at least, p50 %s, p99 %s (%" PRIu64 " time%s)\n", name,
			rd_fmt_duration(min, l->min), rd_fmt_duration(p50, l->p50),
			rd_fmt_duration(p99, l->p99), l->n, rd_plural(l->n));
}

void side_congestion_text(const struct rd_side *s, FILE *out)
{
	const struct rd_congestion *c = s->congestion;
	char before[RD_UNITS_LEN], after[RD_UNITS_LEN], all[RD_UNITS_LEN], longest[RD_UNITS_LEN];

	put_priority(&s->priority, out);
	if (c) {
		put_latency("congestion mark to CNP", &c->reaction, out);
		put_latency("between CNPs", &c->interval, out);
		if (c->episodes)
			fprintf(out,
				"      rate before CNPs %s, lowest after them %s (means of %" PRIu64
				")\n",
				rd_fmt_bitrate(before, (double)c->rate_before),
				rd_fmt_bitrate(after, (double)c->rate_after), c->episodes);
		put_latency("last CNP to 90 % of the former rate", &c->recovery, out);
	}
	if (s->held)
		fprintf(out,
			"      %" PRIu64
			" gaps that fit pauses, %s in all, the longest %s at frame "
			"%" PRIu64 "\n",
			s->held->gaps.count, rd_fmt_duration(all, s->held->ns),
			rd_fmt_duration(longest, s->held->longest_ns), s->held->longest_frame);
}

static void put_class(struct grid *g, const struct rd_report *r, const struct rd_pause_sender *s,
	unsigned int class, const char *from)
{
	const struct rd_pause_class *c = &s->classes[class];
	char priority[8] = "all", paused[RD_UNITS_LEN] = "?", longest[RD_UNITS_LEN] = "?",
	     share[16] = "?";

	if (class < RD_PRIORITIES)
		snprintf(priority, sizeof(priority), "%u", class);
	if (s->speed) {
		rd_fmt_duration(paused, c->paused_ns);
		rd_fmt_duration(longest, c->longest_ns);
		snprintf(share, sizeof(share), "%.1f %%", 100 * rd_pause_share(r, c));
	}
	grid_put(g, "%s", from);
	grid_put(g, "%s", priority);
	grid_put(g, "%" PRIu64, c->pauses.count);
	grid_put(g, "%" PRIu64, c->resumes.count);
	grid_put(g, "%s", paused);
	grid_put(g, "%s", share);
	grid_put(g, "%s", longest);
}

void pauses_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	static const struct grid_column columns[] = {
		{"PAUSE FRAMES FROM", true, 0},
		{"PRIORITY", false, 0},
		{"PAUSES", false, 0},
		{"RESUMES", false, 1},
		{"PAUSED", false, 0},
		{"SHARE", false, 0},
		{"LONGEST", false, 2},
	};
	struct grid g = {.column = columns, .n_columns = RD_COUNT(columns)};

	if (!r->n_pause_senders)
		return;
	for (size_t i = 0; i < r->n_pause_senders; i++) {
		const struct rd_pause_sender *s = &r->pause_senders[i];
		char from[RD_MAC_LEN + RD_ADDRESS_LEN + 4], mac[RD_MAC_LEN];

		snprintf(from, sizeof(from), *s->address ? "%s (%s)" : "%s",
			s->has_mac ? rd_mac_text(mac, s->mac) : "unknown", s->address);
		for (unsigned int k = 0; k < RD_PAUSE_CLASSES; k++)
			if (s->classes[k].pauses.count || s->classes[k].resumes.count)
				put_class(&g, r, s, k, from);
	}
	fputc('\n', out);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
	if (r->pauses_left_out)
		fprintf(out, "%" PRIu64 " pause frames of further senders are only counted\n",
			r->pauses_left_out);
}
