/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of the identical copies there is the partner of a copy here, by order and time. */
#include "ends.h"

#define MARGIN_NS ((int64_t)1000000) /* beyond usual delays, or of a path without matches */
#define NEVER	  ((int64_t)1 << 50) /* more than the sum of all distances in one comparison */

struct extremes distances_expected(const struct path *p)
{
	const struct extremes any = {-MARGIN_NS, MARGIN_NS, 0, 0};
	struct extremes x;

	if (distances_recent(&p->d, &x))
		return x;
	if (p->first_until)
		return p->first;
	return any;
}

/* What distances may be beyond the known ones: timestamps of a step of the clock are the same. */
static struct extremes within_steps(const struct rd_ends *e, struct extremes x)
{
	const int64_t steps =
		clock_step(&e->pending[RD_TAP_A].clock) + clock_step(&e->pending[RD_TAP_B].clock);
	const struct extremes y = x;

	x.min = RD_MIN(x.min, y.max - steps);
	x.max = RD_MAX(x.max, y.min + steps);
	return x;
}

bool both_ran(const struct rd_ends *e, enum rd_tap end, const struct entry *en)
{
	const struct pending *other = &e->pending[!end];
	const struct extremes x = within_steps(e, distances_expected(en->to->path));
	int64_t soonest = end == RD_TAP_A ? en->t + x.min : en->t - x.max;
	int64_t latest = end == RD_TAP_A ? en->t + x.max : en->t - x.min;

	return soonest > other->first && (!other->ended || latest < other->last);
}

/* The time between neighbours of a long list. */
static int64_t gap(struct entry *const *list, unsigned int n)
{
	return n > 1 ? (list[n - 1]->t - list[0]->t) / (n - 1) : NEVER;
}

/* Sets which copies the other capture may lack because it did not run; whether there are any. */
static bool price_edges(const struct rd_ends *e, enum rd_tap end, struct entry *const *list,
	unsigned int n, int64_t *alone)
{
	bool edge = false;

	for (unsigned int i = 0; i < n; i++) {
		alone[i] = both_ran(e, end, list[i]) ? NEVER : 0;
		edge |= !alone[i];
	}
	return edge;
}

/*
 * As many as possible have a partner. But if some copies may have none because the other capture
 * did not run, or if there are more than can be compared, only near ones are partners: nearer than
 * to the next copy, or than delays vary.
 */
static void price(const struct rd_ends *e, enum rd_tap end, struct copies *c)
{
	const struct extremes usual = distances_expected(c->here[0]->to->path);
	bool edge = price_edges(e, end, c->here, c->n_here, c->alone_here);
	int64_t x, y;

	edge |= price_edges(e, !end, c->there, c->n_there, c->alone_there);
	if (!edge && c->n_here < COPIES_MAX && c->n_there < COPIES_MAX)
		return;
	x = gap(c->here, c->n_here);
	y = gap(c->there, c->n_there);
	x = RD_MAX(RD_MIN(x, y) / 2, usual.max - usual.min);
	if (edge && x > MARGIN_NS)
		x = MARGIN_NS;
	for (unsigned int i = 0; i < c->n_here; i++)
		c->alone_here[i] = c->alone_here[i] && x > 0 ? x : 0;
	for (unsigned int i = 0; i < c->n_there; i++)
		c->alone_there[i] = c->alone_there[i] && x > 0 ? x : 0;
}

/* How far the distance of two entries is from what is expected; NEVER: they are no pair. */
static int64_t deviation(const struct rd_ends *e, enum rd_tap end, const struct entry *here,
	const struct entry *there)
{
	const struct extremes x = within_steps(e, distances_expected(here->to->path));
	int64_t distance = end == RD_TAP_A ? there->t - here->t : here->t - there->t, off = 0;

	if (distance < x.min)
		off = x.min - distance;
	else if (distance > x.max)
		off = distance - x.max;
	return off > PATIENCE_NS ? 4 * NEVER : off;
}

/* The partner of the first copy here, by the cheapest assignment that keeps the order. */
static struct entry *cheapest(const struct rd_ends *e, enum rd_tap end, const struct copies *c)
{
	int64_t cost[COPIES_MAX + 1][COPIES_MAX + 1], pair[COPIES_MAX][COPIES_MAX];

	for (unsigned int i = c->n_here + 1; i-- > 0;)
		for (unsigned int k = c->n_there + 1; k-- > 0;) {
			int64_t best = i == c->n_here && k == c->n_there ? 0 : INT64_MAX, x;

			if (i < c->n_here && (x = c->alone_here[i] + cost[i + 1][k]) < best)
				best = x;
			if (k < c->n_there && (x = c->alone_there[k] + cost[i][k + 1]) < best)
				best = x;
			if (i < c->n_here && k < c->n_there) {
				pair[i][k] = deviation(e, end, c->here[i], c->there[k]);
				if ((x = pair[i][k] + cost[i + 1][k + 1]) <= best)
					best = x;
			}
			cost[i][k] = best;
		}
	for (unsigned int k = 0; k < c->n_there; k++) {
		if (cost[0][k] == pair[0][k] + cost[1][k + 1])
			return c->there[k];
		if (cost[0][k] == c->alone_here[0] + cost[1][k])
			return NULL;
	}
	return NULL;
}

/* The only one here and the only one there; unless neither capture has the other's time. */
static bool is_pair(const struct rd_ends *e, enum rd_tap end, const struct entry *here,
	const struct entry *there)
{
	const int64_t off = deviation(e, end, here, there);

	return off <= MARGIN_NS ||
	       (off < NEVER && (both_ran(e, end, here) || both_ran(e, !end, there)));
}

struct entry *copies_partner(const struct rd_ends *e, enum rd_tap end, struct copies *c)
{
	if (c->n_here == 1 && c->n_there == 1)
		return is_pair(e, end, c->here[0], c->there[0]) ? c->there[0] : NULL;
	price(e, end, c);
	return cheapest(e, end, c);
}
