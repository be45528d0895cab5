/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What captures at several points show together: the worst verdict first. */
#include "points.h"
#include <rdmadump/array.h>
#include <stdlib.h>

#define NONE UINT32_MAX

static bool has_path(const struct rd_ends_report *r, const char *a, const char *b)
{
	return RD_ANY(p, r->paths, r->n_paths, !strcmp(p->from, a) && !strcmp(p->to, b));
}

static bool says_the_same(const struct rd_judgement *a, const struct rd_judgement *b)
{
	return b->rule && !strcmp(a->rule, b->rule) && a->certainty == b->certainty &&
	       !strcmp(a->sender, b->sender) && !strcmp(a->receiver, b->receiver);
}

/*
 * Where a verdict rests on one capture and on packets that do not pass the other one, and the pair
 * has no such fault of its own: another pair with a fault that has these packets at both ends; else
 * an earlier one that says the same. NONE: there is none.
 */
static uint32_t better_than(const struct rd_points *p, uint32_t pair)
{
	const struct rd_ends_report *r = p->pairs[pair].ends;
	const char *from = r->verdict.sender, *to = r->verdict.receiver;
	uint32_t same = NONE;

	if (!r->shown_by || !*from || !*to || has_path(r, from, to) || has_path(r, to, from) ||
		(r->findings.n && r->findings.finding->severity >= r->verdict.severity))
		return NONE;
	for (uint32_t i = 0; i < p->n_pairs; i++) {
		const struct rd_ends_report *other = p->pairs[i].ends;

		if (other->verdict.rule && has_path(other, from, to))
			return i;
		if (i < pair && same == NONE && says_the_same(&r->verdict, &other->verdict))
			same = i;
	}
	return same;
}

/* The worst first; what is equally bad in the order of the files. */
static int by_fault(const void *x, const void *y)
{
	const struct rd_points_verdict *a = x, *b = y;
	const struct rd_judgement *v = a->of, *w = b->of;

	return RD_ORDER(!v->rule, !w->rule) ?: RD_ORDER(a->better != NONE, b->better != NONE)
		?: RD_ORDER(w->severity, v->severity)
		?: RD_ORDER(w->certainty, v->certainty) ?: RD_ORDER(w->count, v->count)
		?: RD_ORDER(a->pair, b->pair) ?: RD_ORDER(a->capture, b->capture);
}

static int sort_verdicts(struct rd_points *p)
{
	p->verdicts = calloc(p->n_pairs + p->n_captures, sizeof(*p->verdicts));
	if (!p->verdicts)
		return -1;
	for (uint32_t i = 0; i < p->n_pairs; i++)
		p->verdicts[p->n_verdicts++] = (struct rd_points_verdict){
			i, NONE, better_than(p, i), &p->pairs[i].ends->verdict};
	for (uint32_t i = 0; i < p->n_captures; i++)
		if (!RD_ANY(pair, p->pairs, p->n_pairs,
			    pair->capture[RD_TAP_A] == i || pair->capture[RD_TAP_B] == i))
			p->verdicts[p->n_verdicts++] = (struct rd_points_verdict){
				NONE, i, NONE, &p->captures[i].report->verdict};
	qsort(p->verdicts, p->n_verdicts, sizeof(*p->verdicts), by_fault);
	for (size_t i = 0; i < p->n_verdicts && p->verdicts[i].of->rule; i++)
		*(p->verdicts[i].better == NONE ? &p->n_faults : &p->n_same) += 1;
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
	if (sort_verdicts(p) || points_hosts(p) || points_paths(p) || points_owners(p) ||
		points_clocks(p))
		return -1;
	points_captured(p);
	return points_straggler(p);
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
	free(p->owners);
	free(p->programs);
	free(p->clocks);
}
