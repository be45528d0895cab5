/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The comparison of two captures as text: the clocks, a table of paths, findings. */
#include "output.h"
#include <inttypes.h>
#include <math.h>
#include <rdmadump/ends.h>
#include <rdmadump/units.h>

#define ROWS_SHOWN 8

static void put_clock(const struct rd_ends_report *r, FILE *out)
{
	char packets[RD_UNITS_LEN], error[RD_UNITS_LEN];

	fprintf(out, "two ends of the same traffic: %s packets captured at both, in %.1f s\n",
		rd_fmt_count(packets, r->packets), (double)(r->last_ns - r->first_ns) / 1e9);
	if (!r->offset_known) {
		fputs(r->both_ways ? "the offset of the clocks is unknown: their rates differ too "
				     "much, or "
				     "one was set meanwhile\n"
				   : "the offset of the clocks is unknown: no packets in both "
				     "directions\n",
			out);
		return;
	}
	fprintf(out, "B's clock is %.6f s %s A's, within %s",
		(double)(r->offset_ns < 0 ? -r->offset_ns : r->offset_ns) / 1e9,
		r->offset_ns < 0 ? "behind" : "ahead of", duration_text(error, r->offset_error_ns));
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
	       w->duplicated.count || w->missed.count || w->reordered;
}

/* What is said first: nothing is missing, if so. */
static void put_whole(const struct rd_ends_report *r, FILE *out)
{
	bool odd = r->left_out;

	for (size_t i = 0; i < r->n_paths; i++)
		for (size_t k = 0; k < r->paths[i].n_qps; k++)
			odd |= path_qp_is_faulty(&r->paths[i].qps[k]);
	if (!odd && r->packets)
		fputs("nothing was lost, duplicated or reordered between the ends: each packet "
		      "that one "
		      "capture has, the other one has, in the same order\n",
			out);
}

static void put_qp(const struct rd_path *p, const struct rd_path_qp *w, int width, FILE *out)
{
	char lost[48], route[2 * RD_ADDRESS_LEN + 24], sent[RD_UNITS_LEN], p50[RD_UNITS_LEN],
		p99[RD_UNITS_LEN];

	snprintf(lost, sizeof(lost), "%" PRIu64, w->lost.count);
	if (w->unclear.count)
		snprintf(lost, sizeof(lost), "%" PRIu64 "+%" PRIu64, w->lost.count,
			w->unclear.count);
	snprintf(route, sizeof(route), "%s -> %s:0x%x", p->from, p->to, w->qp);
	fprintf(out, "%-*s %c->%c%-5s %9s %8s %10" PRIu64 " %9" PRIu64 " %8" PRIu64, width, route,
		p->sender == RD_TAP_A ? 'A' : 'B', p->sender == RD_TAP_A ? 'B' : 'A',
		p->sender_known ? "" : "?", rd_fmt_count(sent, w->sent), lost, w->duplicated.count,
		w->reordered, w->missed.count + w->missed_at_receiver.count + w->unclear.count);
	if (p->variation.n && w == p->qps)
		fprintf(out, "  %s / %s", duration_text(p50, p->variation.p50),
			duration_text(p99, p->variation.p99));
	fputc('\n', out);
}

static void put_table(const struct rd_ends_report *r, size_t most, FILE *out)
{
	size_t shown = 0, all = 0;
	int width = 24;

	for (size_t i = 0; i < r->n_paths; i++) {
		int n = (int)(strlen(r->paths[i].from) + strlen(r->paths[i].to)) + 14;

		width = n > width ? n : width;
		all += r->paths[i].n_qps;
	}
	if (!all)
		return;
	fprintf(out, "\n%-*s %-9s %9s %8s %10s %9s %8s  %s\n", width, "TO QP", "DIRECTION", "SENT",
		"LOST", "DUPLICATED", "REORDERED", "MISSED", "DELAY VARIATION p50 / p99");
	for (size_t i = 0; i < r->n_paths; i++)
		for (size_t k = 0; k < r->paths[i].n_qps && shown < most; k++, shown++)
			put_qp(&r->paths[i], &r->paths[i].qps[k], width, out);
	if (shown < all)
		fprintf(out, "%zu more: -v shows them\n", all - shown);
}

static void put_rest(const struct rd_ends_report *r, FILE *out)
{
	if (r->outside)
		fprintf(out,
			"%" PRIu64
			" packets are at one end only, before the other capture began or "
			"after it ended: nothing is known of them\n",
			r->outside);
	if (r->elsewhere)
		fprintf(out,
			"%" PRIu64 " packets are of addresses whose packets pass one of the ends "
			"only\n",
			r->elsewhere);
	if (r->evicted)
		fprintf(out,
			"%" PRIu64
			" packets may count as lost: more than 262144 at once waited for "
			"their match\n",
			r->evicted);
	if (r->left_out)
		fprintf(out, "%" PRIu64 " packets of further QPs were not compared\n", r->left_out);
}

void rd_ends_text(const struct rd_ends_report *r, const struct rd_report_style *style, FILE *out)
{
	struct rd_report findings = {.findings = r->findings};

	findings.totals.first_ns = r->start_ns;
	put_clock(r, out);
	put_whole(r, out);
	findings_text(&findings, style, out);
	put_table(r, style->verbose ? SIZE_MAX : ROWS_SHOWN, out);
	put_rest(r, out);
}
