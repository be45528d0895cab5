/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each host sent to each other one: what every capture and every pair shows of it, joined. */
#include "points.h"
#include <rdmadump/array.h>
#include <stdlib.h>

/* --- joining ---------------------------------------------------------------------------------- */

static void join(struct rd_points_path *to, const struct rd_points_path *more, bool same_packets)
{
	const struct rd_latency *a = &to->latency, *b = &more->latency;

	for (int i = 0; i < RD_POINTS_COUNTS; i++)
		if (!same_packets)
			to->count[i] += more->count[i];
		else if (to->count[i] < more->count[i])
			to->count[i] = more->count[i];
	to->lost_known |= more->lost_known;
	if ((RD_ORDER(b->p99, a->p99) ?: RD_ORDER(b->p50, a->p50) ?: RD_ORDER(b->n, a->n)) > 0)
		to->latency = *b;
}

static int by_ends(const void *x, const void *y)
{
	const struct rd_points_path *a = x, *b = y;

	return RD_ORDER(a->from, b->from) ?: RD_ORDER(a->to, b->to);
}

/* One of each direction, from several captures or of several QPs. Returns how many there are. */
static size_t fold(struct rd_points_path *paths, size_t n, bool same_packets)
{
	size_t to = 0;

	qsort(paths, n, sizeof(*paths), by_ends);
	for (size_t i = 0; i < n; i++)
		if (to && by_ends(&paths[to - 1], &paths[i]) == 0)
			join(&paths[to - 1], &paths[i], same_packets);
		else
			paths[to++] = paths[i];
	return to;
}

/* --- what one capture, or one pair, shows ---------------------------------------------------- */

static struct rd_points_path of_side(
	const struct rd_points *p, const struct rd_conversation *c, int i)
{
	const struct rd_side *s = &c->side[i];

	return (struct rd_points_path){.from = points_address(p, c->end[i].address),
		.to = points_address(p, c->end[!i].address),
		.count = {[RD_POINTS_PACKETS] = s->traffic.frames,
			[RD_POINTS_RETRANSMITTED] =
				rd_side_incident(s, RD_INC_RETRANSMITTED)->count,
			[RD_POINTS_PAUSES] = s->held ? s->held->gaps.count : 0,
			[RD_POINTS_PAUSED_NS] = s->held ? s->held->ns : 0},
		.latency = *rd_side_responses(s)};
}

static struct rd_points_path of_path(const struct rd_points *p, const struct rd_path *path)
{
	struct rd_points_path out = {.from = points_address(p, path->from),
		.to = points_address(p, path->to),
		.lost_known = true};

	for (size_t i = 0; i < path->n_qps; i++) {
		const struct rd_path_qp *w = &path->qps[i];

		/* The other capture may be that of the sender, or have missed them. */
		if (w->lost_likely)
			out.count[RD_POINTS_LOST] += w->lost.count;
		else
			out.lost_known &= !w->lost.count && !w->unclear.count &&
					  (path->sender_known || !w->missed.count);
	}
	out.lost_known |= out.count[RD_POINTS_LOST] > 0;
	return out;
}

/* Makes room for n more. NULL: out of memory. */
static struct rd_points_path *more_paths(struct rd_points *p, size_t n)
{
	struct rd_points_path *all = realloc(p->paths, (p->n_paths + n + 1) * sizeof(*all));

	if (!all)
		return NULL;
	p->paths = all;
	return &all[p->n_paths];
}

static int add_capture(struct rd_points *p, const struct rd_report *r)
{
	struct rd_points_path *to = more_paths(p, 2 * r->n_conversations);
	size_t n = 0;

	for (size_t i = 0; i < r->n_conversations && to; i++)
		for (int k = 0; k < 2; k++)
			if (r->conversations[i].side[k].seen)
				to[n++] = of_side(p, &r->conversations[i], k);
	if (to)
		p->n_paths += fold(to, n, false);
	return to ? 0 : -1;
}

static int add_pair(struct rd_points *p, const struct rd_ends_report *r)
{
	struct rd_points_path *to = more_paths(p, r->n_paths);
	size_t n = 0;

	for (size_t i = 0; i < r->n_paths && to; i++) {
		to[n] = of_path(p, &r->paths[i]);
		/* No conversations of these are in the reports: --qp. */
		n += to[n].from < p->n_addresses && to[n].to < p->n_addresses;
	}
	if (to)
		p->n_paths += fold(to, n, false);
	return to ? 0 : -1;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int by_fault(const void *x, const void *y)
{
	const struct rd_points_path *a = x, *b = y;

	for (int i = 0; i < RD_POINTS_PAUSES; i++)
		if (a->count[i] != b->count[i])
			return RD_ORDER(b->count[i], a->count[i]);
	return RD_ORDER(b->latency.p99, a->latency.p99) ?: by_ends(a, b);
}

/* `slow`: the least of slow responses, if no path lost anything; else 0. */
static bool is_faulty(const struct rd_points_path *path, uint64_t slow)
{
	return slow ? path->latency.n && path->latency.p50 >= slow
		    : path->count[RD_POINTS_LOST] || path->count[RD_POINTS_RETRANSMITTED];
}

#define SLOW 4 /* times the usual response */

static int by_latency(const void *x, const void *y)
{
	const struct rd_points_path *a = x, *b = y;

	return RD_ORDER(a->latency.p50, b->latency.p50) ?: by_ends(a, b);
}

/* The responses that are slow beside those of most paths; 0: some path loses packets. */
static uint64_t slow_of(struct rd_points *p)
{
	size_t none = 0;

	qsort(p->paths, p->n_paths, sizeof(*p->paths), by_latency);
	for (size_t i = 0; i < p->n_paths; i++) {
		if (is_faulty(&p->paths[i], 0))
			return 0;
		none += !p->paths[i].latency.n;
	}
	return none < p->n_paths ? SLOW * p->paths[(none + p->n_paths) / 2].latency.p50 : 0;
}

/*
 * How many paths end or begin there, faulty ones and others; `several`: the faulty ones do not all
 * have the same other end, to which they would point as well.
 */
struct share {
	size_t faulty, others;
	uint32_t other_end;
	bool several;
};

static void count(struct share *s, bool faulty, uint32_t other_end)
{
	s->others += !faulty;
	if (!faulty)
		return;
	s->several |= s->faulty && s->other_end != other_end;
	s->other_end = other_end;
	s->faulty++;
}

/*
 * Where most of the faulty paths end or begin, but not as many of the others: an address, or, once
 * the paths are between hosts, a host. -1 if out of memory.
 */
static int find_common(const struct rd_points *p, uint64_t slow, struct rd_points_common *c)
{
	struct share(*at)[RD_POINTS_ENDS] = calloc(p->n_addresses + 1, sizeof(*at)), all = {0};

	*c = (struct rd_points_common){.slow = slow};
	for (size_t i = 0; i < p->n_paths && at; i++) {
		const uint32_t from = p->paths[i].from, to = p->paths[i].to;
		const bool faulty = is_faulty(&p->paths[i], slow);

		count(&all, faulty, to);
		count(&at[to][RD_POINTS_TO], faulty, from);
		count(&at[from][RD_POINTS_FROM], faulty, to);
		count(&at[to][RD_POINTS_EITHER], faulty, from);
		count(&at[from][RD_POINTS_EITHER], faulty, to);
	}
	for (uint32_t i = 0; i < p->n_addresses && at; i++)
		for (unsigned int end = 0; end < RD_POINTS_ENDS; end++) {
			const struct share *s = &at[i][end];

			if (s->several && 2 * s->faulty > all.faulty &&
				s->faulty * all.others > s->others * all.faulty &&
				(s->faulty > c->faulty ||
					(s->faulty == c->faulty && s->others < c->others)))
				*c = (struct rd_points_common){.slow = slow,
					.place = i,
					.end = end,
					.faulty = s->faulty,
					.others = s->others};
		}
	c->of_faulty = all.faulty;
	c->of_others = all.others;
	free(at);
	return at ? 0 : -1;
}

/* One of several addresses of a host says more than the host, if as many faulty paths fit it. */
static void prefer_address(struct rd_points *p, const struct rd_points_common *a)
{
	struct rd_points_common *c = &p->common;

	if (!a->faulty || p->hosts[p->host_of[a->place]].n_addresses == 1 ||
		a->faulty * c->of_faulty < c->faulty * a->of_faulty)
		return;
	*c = *a;
	c->address = true;
}

int points_paths(struct rd_points *p)
{
	struct rd_points_common of_addresses;
	uint64_t slow;
	int ret = 0;

	for (size_t i = 0; i < p->n_captures && !ret; i++)
		ret = add_capture(p, p->captures[i].report);
	for (size_t i = 0; i < p->n_pairs && !ret; i++)
		ret = add_pair(p, p->pairs[i].ends);
	if (ret)
		return ret;
	p->n_paths = fold(p->paths, p->n_paths, true);
	slow = slow_of(p);
	if (find_common(p, slow, &of_addresses) < 0)
		return -1;
	for (size_t i = 0; i < p->n_paths; i++) {
		p->paths[i].from = p->host_of[p->paths[i].from];
		p->paths[i].to = p->host_of[p->paths[i].to];
	}
	p->n_paths = fold(p->paths, p->n_paths, false);
	qsort(p->paths, p->n_paths, sizeof(*p->paths), by_fault);
	if (find_common(p, slow, &p->common) < 0)
		return -1;
	prefer_address(p, &of_addresses);
	return 0;
}
