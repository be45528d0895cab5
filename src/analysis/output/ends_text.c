/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The comparison of two captures as text: the clocks, a table of paths, findings. */
#include "layout.h"
#include "output.h"
#include <inttypes.h>
#include <math.h>
#include <rdmadump/ends.h>

#define ROWS_SHOWN 8

static void put_clock(const struct rd_ends_report *r, FILE *out)
{
	const uint64_t far = (uint64_t)(r->offset_ns < 0 ? -r->offset_ns : r->offset_ns);
	char offset[RD_TIMES_LEN], packets[RD_UNITS_LEN], error[RD_UNITS_LEN],
		duration[RD_UNITS_LEN];

	fprintf(out, "two ends of the same traffic: %s packet%s captured at both, in %s\n",
		rd_fmt_count(packets, r->packets), rd_plural(r->packets),
		rd_fmt_duration(duration, r->last_ns - r->first_ns));
	if (!r->offset_known) {
		fprintf(out, "the offset of the clocks is unknown: %s\n",
			r->both_ways ? "their rates differ too much, or one was set meanwhile"
			: rd_ends_has_both_ways(r)
				? "nothing proves which of the captures is at which host"
				: "no packets in both directions");
		return;
	}
	/* Far apart they need all their digits: others are set by it. */
	snprintf(offset, sizeof(offset), "%.6f s", (double)far / 1e9);
	fprintf(out, "B's clock is %s %s A's, within %s",
		far < 1000000000 ? rd_fmt_times(offset, 0, far, far) : offset,
		r->offset_ns < 0 ? "behind" : "ahead of",
		rd_fmt_duration(error, r->offset_error_ns));
	if (r->drift_known && fabs(r->drift_ppm) <= r->drift_error_ppm)
		fprintf(out, ", and runs at the same rate within %.2g ppm",
			fabs(r->drift_ppm) + r->drift_error_ppm);
	else if (r->drift_known)
		fprintf(out, ", and runs %.1f ppm %s, within %.2g ppm", fabs(r->drift_ppm),
			r->drift_ppm < 0 ? "slower" : "faster", r->drift_error_ppm);
	fputc('\n', out);
}

bool path_qp_is_faulty(const struct rd_path_qp *w)
{
	return w->lost.count || w->unclear.count || w->missed_at_receiver.count ||
	       w->duplicated.count || w->missed.count || w->reordered || w->order_unclear;
}

/* What is said first: nothing is missing, if so. */
static void put_whole(const struct rd_ends_report *r, FILE *out)
{
	bool odd = r->left_out;

	for (size_t i = 0; i < r->n_paths; i++)
		for (size_t k = 0; k < r->paths[i].n_qps; k++)
			odd |= path_qp_is_faulty(&r->paths[i].qps[k]);
	if (odd || !r->packets)
		return;
	fprintf(out,
		"nothing was lost, duplicated or reordered between the ends%s: each packet that "
		"one capture has%s, the other one has, in the same order\n",
		r->elsewhere ? ", in the directions that both captures have" : "",
		r->outside ? " while the other one runs" : "");
}

static void put_qp(struct grid *g, const struct rd_path *p, const struct rd_path_qp *w)
{
	char number[RD_UNITS_LEN];
	const bool measured = p->variation.n && w == p->qps;

	if (w->network)
		grid_put(g, "%s -> %s:0x%x (network %" PRIu32 ")", p->from, p->to, w->qp,
			w->network);
	else
		grid_put(g, "%s -> %s:0x%x", p->from, p->to, w->qp);
	grid_put(g, "%c->%c%s", p->sender == RD_TAP_A ? 'A' : 'B',
		p->sender == RD_TAP_A ? 'B' : 'A', p->sender_known ? "" : "?");
	grid_put(g, "%s", rd_fmt_count(number, w->sent));
	if (w->unclear.count)
		grid_put(g, "%" PRIu64 "+%" PRIu64, w->lost.count, w->unclear.count);
	else
		grid_put(g, "%" PRIu64, w->lost.count);
	grid_put(g, "%" PRIu64, w->duplicated.count);
	if (w->order_unclear)
		grid_put(g, "%" PRIu64 "+%" PRIu64, w->reordered, w->order_unclear);
	else
		grid_put(g, "%" PRIu64, w->reordered);
	grid_put(g, "%" PRIu64, w->missed.count + w->missed_at_receiver.count + w->unclear.count);
	grid_put(g, "%s", measured ? rd_fmt_duration(number, p->variation.p50) : "");
	grid_put(g, "%s", measured ? rd_fmt_duration(number, p->variation.p99) : "");
}

static void put_table(
	const struct rd_ends_report *r, const struct rd_report_style *style, FILE *out)
{
	/* The delays vary, per path: on the line of its first QP. */
	static const struct grid_column columns[] = {
		{"TO QP", true, 0},
		{"DIRECTION", true, 3},
		{"SENT", false, 0},
		{"LOST", false, 0},
		{"DUPLICATED", false, 0},
		{"REORDERED", false, 0},
		{"MISSED", false, 0},
		{"VARIATION p50", false, 2},
		{"p99", false, 1},
	};
	const size_t most = style->verbose ? SIZE_MAX : ROWS_SHOWN;
	struct grid g = {.column = columns, .n_columns = RD_COUNT(columns)};
	size_t shown = 0, all = 0;

	for (size_t i = 0; i < r->n_paths; i++)
		all += r->paths[i].n_qps;
	/* Where not all fit, those with faults come first. */
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < r->n_paths; i++)
			for (size_t k = 0; k < r->paths[i].n_qps; k++) {
				const struct rd_path_qp *w = &r->paths[i].qps[k];

				if (all > most ? path_qp_is_faulty(w) != !pass : pass)
					continue;
				put_qp(&g, &r->paths[i], w);
				if (shown < most)
					shown++;
				else
					grid_drop_row(&g);
			}
	if (!all)
		return;
	fputc('\n', out);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
	if (shown < all)
		fprintf(out, "%zu more: -v shows them\n", all - shown);
}

static void put_rest(const struct rd_ends_report *r, FILE *out)
{
	if (r->outside)
		fprintf(out,
			"%" PRIu64
			" packet%s at one end only, when the other capture may not have run: "
			"nothing is known of %s\n",
			r->outside, r->outside == 1 ? " is" : "s are",
			r->outside == 1 ? "it" : "them");
	if (r->elsewhere)
		fprintf(out,
			"%" PRIu64 " packet%s of addresses whose packets pass one of the ends "
			"only\n",
			r->elsewhere, rd_plural(r->elsewhere));
	if (r->evicted)
		fprintf(out,
			"%" PRIu64
			" packet%s may count as lost: more than 262144 at once waited for "
			"their match\n",
			r->evicted, rd_plural(r->evicted));
	if (r->left_out)
		fprintf(out,
			"%" PRIu64 " packet%s of further QPs not compared; the number of these "
			"QPs is not known\n",
			r->left_out, rd_plural(r->left_out));
}

void rd_ends_text(const struct rd_ends_report *r, const struct rd_report_style *style, FILE *out)
{
	struct rd_report findings = {.findings = r->findings, .verdict = r->verdict};
	FILE *lines = layout_open(out, layout_columns(style));
	FILE *to = lines ? lines : out;

	findings.totals.first_ns = r->start_ns;
	verdict_text(&findings, style, to);
	put_clock(r, to);
	put_whole(r, to);
	fflush(to);
	findings_text(&findings, style, out); /* has colours, and breaks its own lines */
	put_table(r, style, to);
	put_rest(r, to);
	if (lines)
		fclose(lines);
}
