/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether two captures have the same packets, and between which addresses. */
#include "points.h"
#include <errno.h>
#include <rdmadump/memory.h>
#include <stdlib.h>

/* --- whether two have them -------------------------------------------------------------------- */

struct looking {
	struct rd_ends_search *search;
	enum rd_tap tap;
};

static bool look_at(void *ctx, enum rd_link link, const struct rd_frame *frame)
{
	const struct looking *l = ctx;

	return rd_ends_search_frame(l->search, l->tap, link, frame);
}

/* The same, without reading files: the sample of a capture, or the packets of the other one. */
static int look_at_kept(const struct looking *l, const struct analyze_pair *pair, enum rd_tap of,
	struct rd_error *err)
{
	const struct rd_ends_sample *sample = &kept_capture(pair, of)->sample;
	struct kept_reader *r = kept_open(pair, l->tap, err);
	const struct rd_ends_packet *p;
	bool more = true;

	for (; r && more && (p = kept_peek(r)); kept_step(r))
		more = l->tap == of ? rd_ends_search_sampled(l->search, sample, p)
				    : rd_ends_search_packet(l->search, l->tap, p);
	if (l->tap == of)
		rd_ends_search_samples(l->search, sample, &kept_capture(pair, !of)->sample);
	return r ? kept_close(r, err) : -1;
}

static bool are_two(uint64_t adapter, uint64_t other)
{
	return adapter && other && adapter != other;
}

/* Searches for the first packets of one capture in the other one. */
static int look(
	struct analyze_pair *pair, enum rd_tap of, enum rd_ends_need need, struct rd_error *err)
{
	struct looking l = {
		.search = rd_ends_search_open(of, need, pair->spans_known ? pair->span : NULL)};
	uint64_t adapter[RD_TAPS] = {0, 0};
	int ret = 0;

	if (!l.search)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare two files");
	do {
		for (int i = 0; i < RD_TAPS && !ret; i++) {
			l.tap = i ? !of : of;
			if (pair->kept)
				ret = look_at_kept(&l, pair, of, err);
			else
				ret = analyze_walk(pair->points[l.tap].files, pair->points[l.tap].n,
					&(struct analyze_walker){
						look_at, &l, NULL, &adapter[l.tap]},
					err);
		}
		if (pair->two_adapters || are_two(adapter[RD_TAP_A], adapter[RD_TAP_B]))
			rd_ends_search_two_adapters(l.search);
	} while (ret == 0 && rd_ends_search_again(l.search));
	if (ret == 0)
		ret = rd_ends_search_result(l.search, &pair->start);
	rd_ends_search_close(l.search);
	return ret;
}

int pair_look(struct analyze_pair *pair, enum rd_ends_need need, struct rd_error *err)
{
	const int ret = look(pair, RD_TAP_B, need, err);

	return ret ? ret : look(pair, RD_TAP_A, need, err);
}

/* --- between which addresses ------------------------------------------------------------------ */

static bool add_address(struct rd_ends_start *s, const struct rd_ends_address *address)
{
	struct rd_ends_address *added = rd_append(&s->addresses, s->n_addresses, sizeof(*added));

	if (!added)
		return false;
	*added = *address;
	s->n_addresses++;
	return true;
}

/* The addresses of all paths that both files have. False if out of memory. */
static bool add_common(
	struct rd_ends_start *s, const struct common_paths *a, const struct common_paths *b)
{
	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		const struct common_path *x = &a->list[i], *y = &b->list[k];
		const int order = common_order(x, y);

		if (!order && (!add_address(s, &x->low) || !add_address(s, &x->high)))
			return false;
		i += order <= 0;
		k += order >= 0;
	}
	return true;
}

/* --- all pairs -------------------------------------------------------------------------------- */

/* Of the first n points. */
struct grid {
	const struct common *c;
	const unsigned int *of_point; /* of each file */
	unsigned int n;
	struct whole {
		uint64_t frames; /* 0: no file yet */
		uint64_t adapter;
		struct rd_ends_span span;
	} * of;		    /* each point */
	unsigned int *pair; /* [a * n + b], a < b: 1 + the place of their pair; 0: none */
};

static void add_file(struct whole *of, const struct common_file *f)
{
	if (!of->frames || (int64_t)f->first_ns < (int64_t)of->span.first_ns)
		of->span.first_ns = f->first_ns;
	if (!of->frames || (int64_t)f->last_ns > (int64_t)of->span.last_ns)
		of->span.last_ns = f->last_ns;
	of->frames += f->frames;
	if (!of->adapter)
		of->adapter = f->adapter;
}

static unsigned int *pair_of(const struct grid *g, unsigned int file, unsigned int other)
{
	const unsigned int a = g->of_point[file], b = g->of_point[other];

	return &g->pair[a < b ? a * g->n + b : b * g->n + a];
}

/* A pair of each two that have some packet in common: the others would take a time of n * n. */
static void make_pairs(const struct grid *g, struct analyze_points *p)
{
	for (unsigned int i = 0; i < g->c->n; i++) {
		add_file(&g->of[g->of_point[i]], &g->c->files[i]);
		for (unsigned int k = 0; k < i; k++)
			*pair_of(g, i, k) |= common_any(g->c, i, k);
	}
	for (unsigned int a = 0; a < g->n; a++)
		for (unsigned int b = a + 1; b < g->n; b++) {
			const unsigned int number[RD_TAPS] = {a, b};
			struct analyze_pair *pair = &p->pairs[p->n_pairs];

			if (!g->pair[a * g->n + b])
				continue;
			for (int i = 0; i < RD_TAPS; i++) {
				const struct whole *of = &g->of[number[i]];

				pair->points[i] = p->points[pair->number[i] = number[i]];
				pair->span[i] = of->span;
				if (pair->start.frames < of->frames)
					pair->start.frames = of->frames;
			}
			pair->spans_known = true;
			pair->two_adapters = are_two(g->of[a].adapter, g->of[b].adapter);
			g->pair[a * g->n + b] = ++p->n_pairs;
		}
}

/* Between which addresses both points of each pair have packets. False if out of memory. */
static bool find_addresses(const struct grid *g, struct analyze_points *p)
{
	for (unsigned int i = 0; i < g->c->n; i++)
		for (unsigned int k = 0; k < i; k++) {
			const unsigned int pair = *pair_of(g, i, k);

			if (g->of_point[i] != g->of_point[k] && pair &&
				!add_common(&p->pairs[pair - 1].start, &g->c->files[i].paths,
					&g->c->files[k].paths))
				return false;
		}
	for (unsigned int i = 0; i < p->n_pairs; i++) {
		struct rd_ends_start *s = &p->pairs[i].start;

		s->n_addresses = sort_unique(
			s->addresses, s->n_addresses, sizeof(*s->addresses), rd_ends_address_order);
	}
	return true;
}

static int list_candidates(struct grid *g, struct analyze_points *p)
{
	bool made;

	p->pairs = calloc((size_t)g->n * (g->n - 1) / 2 + 1, sizeof(*p->pairs));
	g->pair = calloc((size_t)g->n * g->n, sizeof(*g->pair));
	g->of = calloc(g->n, sizeof(*g->of));
	made = p->pairs && g->pair && g->of;
	if (made) {
		make_pairs(g, p);
		made = g->c->incomplete || find_addresses(g, p);
	}
	free(g->pair);
	free(g->of);
	return made ? 0 : -1;
}

static int look_at_pair(void *ctx, unsigned int i, struct rd_error *err)
{
	struct analyze_pair *pair = &((struct analyze_points *)ctx)->pairs[i];
	const int same = pair_look(pair, RD_ENDS_NEED_PATH, err);

	if (pair->kept) { /* tables of the size of what is compared */
		const uint64_t a = kept_packets(pair, RD_TAP_A), b = kept_packets(pair, RD_TAP_B);

		pair->start.frames = a > b ? a : b;
	}
	pair->same = same > 0;
	return same < 0 ? -1 : 0;
}

int pairs_find(const struct common *c, struct analyze_points *p, unsigned int n,
	const unsigned int *of_point, unsigned int threads, struct rd_error *err)
{
	static const struct job_kind kind = {"looking for packets in common", look_at_pair};
	struct grid g = {.c = c, .of_point = of_point, .n = n};
	unsigned int to = 0;

	if (list_candidates(&g, p) < 0)
		return rd_fail(
			err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare %u files", c->n);
	if (p->n_pairs > 1 && !c->incomplete)
		p->kept = kept_make(c, p, of_point, n, threads);
	for (unsigned int i = 0; i < p->n_pairs; i++)
		p->pairs[i].kept = p->kept;
	if (jobs_run(&kind, p, p->n_pairs, threads, err) < 0)
		return -1;
	for (unsigned int i = 0; i < p->n_pairs; i++) {
		p->undecided |= p->pairs[i].start.undecided;
		if (p->pairs[i].same)
			p->pairs[to++] = p->pairs[i];
		else
			free(p->pairs[i].start.addresses);
	}
	p->n_pairs = to;
	return 0;
}
