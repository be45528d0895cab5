/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What captures at several points show together: the worst verdict first. */
#include "points.h"
#include <rdmadump/order.h>
#include <stdlib.h>

/* The worst first; what is equally bad in the order of the files. */
static int by_fault(const void *x, const void *y)
{
	const struct rd_points_verdict *a = x, *b = y;
	const struct rd_judgement *v = a->of, *w = b->of;

	return RD_ORDER(!v->rule, !w->rule) ?: RD_ORDER(w->severity, v->severity)
		?: RD_ORDER(w->certainty, v->certainty) ?: RD_ORDER(w->count, v->count)
		?: RD_ORDER(a->pair, b->pair) ?: RD_ORDER(a->capture, b->capture);
}

static bool is_in_a_pair(const struct rd_points *p, unsigned int capture)
{
	size_t i = 0;

	while (i < p->n_pairs && p->pairs[i].capture[RD_TAP_A] != capture &&
		p->pairs[i].capture[RD_TAP_B] != capture)
		i++;
	return i < p->n_pairs;
}

static int sort_verdicts(struct rd_points *p)
{
	p->verdicts = calloc(p->n_pairs + p->n_captures, sizeof(*p->verdicts));
	if (!p->verdicts)
		return -1;
	for (uint32_t i = 0; i < p->n_pairs; i++)
		p->verdicts[p->n_verdicts++] =
			(struct rd_points_verdict){i, UINT32_MAX, &p->pairs[i].ends->verdict};
	for (uint32_t i = 0; i < p->n_captures; i++)
		if (!is_in_a_pair(p, i))
			p->verdicts[p->n_verdicts++] = (struct rd_points_verdict){
				UINT32_MAX, i, &p->captures[i].report->verdict};
	qsort(p->verdicts, p->n_verdicts, sizeof(*p->verdicts), by_fault);
	while (p->n_faults < p->n_verdicts && p->verdicts[p->n_faults].of->rule)
		p->n_faults++;
	return 0;
}

int rd_points_judge(struct rd_points *p)
{
	for (size_t i = 0; i < p->n_pairs; i++) {
		const struct rd_points_pair *pair = &p->pairs[i];
		struct rd_report *const reports[RD_TAPS] = {
			p->captures[pair->capture[RD_TAP_A]].report,
			p->captures[pair->capture[RD_TAP_B]].report};

		if (rd_ends_refer(pair->ends, reports) < 0)
			return -1;
	}
	return sort_verdicts(p) || points_hosts(p) || points_paths(p) ? -1 : 0;
}

void rd_points_free(struct rd_points *p)
{
	for (size_t i = 0; i < p->n_pairs; i++)
		rd_ends_report_free(p->pairs[i].ends);
	for (size_t i = 0; i < p->n_captures; i++)
		rd_report_free(p->captures[i].report);
	free(p->pairs);
	free(p->captures);
	free(p->verdicts);
	free(p->addresses);
	free(p->host_of);
	free(p->hosts);
	free(p->paths);
}
