/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How far the clocks of captures are apart: from pair to pair that has packets of both ways. */
#include "points.h"
#include <math.h>
#include <stdlib.h>

#define FAR ((double)RD_ENDS_TIME_MAX)

/* Of a capture, at the reference's first moment. */
struct reading {
	bool known, passed_on;
	int64_t ns; /* ahead of the reference */
	double error;
};

/*
 * Follows a pair from the capture `from`. Its offset is that at A's first moment; until that of the
 * reference, the clocks may have drifted apart, by an error that the drift has.
 */
static struct reading follow(const struct rd_points *p, const struct rd_points_pair *pair,
	enum rd_tap from, const struct reading *known)
{
	const struct rd_ends_report *e = pair->ends;
	const struct rd_report *a = p->captures[pair->capture[RD_TAP_A]].report;
	const double least =
		e->drift_known ? e->drift_ppm - e->drift_error_ppm : -RD_ENDS_DRIFT_MAX;
	const double most = e->drift_known ? e->drift_ppm + e->drift_error_ppm : RD_ENDS_DRIFT_MAX;
	const double at_a = (double)(int64_t)(p->clock_start + (uint64_t)known->ns -
					      (e->start_ns - a->totals.moved_ns)) -
			    (from == RD_TAP_B ? (double)e->offset_ns : 0);
	const double drifted = at_a * (least + most) / 2e6;
	const int64_t offset = e->offset_ns + (fabs(drifted) < FAR ? (int64_t)drifted : 0);
	struct reading to = {.known = true};

	/* `at_a` may be wrong by the errors of both, and by the drift. */
	to.error = known->error + (double)e->offset_error_ns + fabs(at_a) * (most - least) / 2e6 +
		   (fabs(drifted) + (double)e->offset_error_ns + known->error) * RD_ENDS_DRIFT_MAX /
			   1e6 +
		   1;
	to.ns = from == RD_TAP_A ? known->ns + offset : known->ns - offset;
	to.known = to.error < FAR && llabs(to.ns) < RD_ENDS_TIME_MAX;
	return to;
}

static void pass_on(const struct rd_points *p, struct reading *of, unsigned int from)
{
	of[from].passed_on = true;
	for (size_t i = 0; i < p->n_pairs; i++) {
		const struct rd_points_pair *pair = &p->pairs[i];
		const enum rd_tap end = pair->capture[RD_TAP_A] == from ? RD_TAP_A : RD_TAP_B;
		struct reading *to = &of[pair->capture[!end]], new;

		if (pair->capture[end] != from || !pair->ends->offset_known || to->passed_on)
			continue;
		new = follow(p, pair, end, &of[from]);
		if (new.known && (!to->known || new.error < to->error))
			*to = new;
	}
}

/* The one with the smallest error whose pairs were not followed; n_captures: none is left. */
static unsigned int next_of(const struct rd_points *p, const struct reading *of)
{
	unsigned int best = (unsigned int)p->n_captures;

	for (unsigned int i = 0; i < p->n_captures; i++)
		if (of[i].known && !of[i].passed_on &&
			(best == p->n_captures || of[i].error < of[best].error))
			best = i;
	return best;
}

/* The first capture that has a pair whose offset is known. */
static unsigned int reference_of(const struct rd_points *p)
{
	unsigned int first = (unsigned int)p->n_captures;

	for (size_t i = 0; i < p->n_pairs; i++)
		if (p->pairs[i].ends->offset_known && p->pairs[i].capture[RD_TAP_A] < first)
			first = p->pairs[i].capture[RD_TAP_A];
	return first;
}

int points_clocks(struct rd_points *p)
{
	struct reading *of = calloc(p->n_captures + 1, sizeof(*of));
	unsigned int at = reference_of(p);

	p->clocks = calloc(p->n_captures + 1, sizeof(*p->clocks));
	if (!of || !p->clocks) {
		free(of);
		return -1;
	}
	if (at < p->n_captures) {
		of[at].known = true;
		p->clock_start = p->captures[at].report->totals.first_ns -
				 p->captures[at].report->totals.moved_ns;
	}
	for (; at < p->n_captures; at = next_of(p, of))
		pass_on(p, of, at);
	for (unsigned int i = 0; i < p->n_captures; i++)
		if (of[i].known)
			p->clocks[p->n_clocks++] =
				(struct rd_points_clock){i, of[i].ns, (uint64_t)of[i].error + 1};
	free(of);
	return 0;
}
