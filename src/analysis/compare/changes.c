/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Matches the traffic and the findings of two analyses. A queue pair is compared with itself if its
 * numbers are the same; else, since programs get new numbers when they start again, all queue pairs
 * with the same addresses, transport, verb and service are compared as one.
 */
#include "compare.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How streams are matched, one after the other. */
struct level {
	bool qps, service;
};

static const struct level levels[] = {{true, false}, {false, true}, {false, false}};
static const struct level by_service = {false, true};

static int number_order(uint32_t x, uint32_t y)
{
	return x < y ? -1 : x > y;
}

static int stream_order(const struct level *level, const struct stream *x, const struct stream *y)
{
	int order = strcmp(x->from, y->from);

	if (!order)
		order = strcmp(x->to, y->to);
	if (!order)
		order = strcmp(x->transport, y->transport);
	if (!order)
		order = strcmp(x->verb, y->verb);
	if (!order && level->service)
		order = strcmp(x->service, y->service);
	if (!order && level->qps)
		order = number_order(x->from_qp, y->from_qp);
	if (!order && level->qps)
		order = number_order(x->to_qp, y->to_qp);
	return order;
}

static int order_in(const void *a, const void *b, void *level)
{
	return stream_order(level, *(struct stream *const *)a, *(struct stream *const *)b);
}

/* The streams of a snapshot that are not matched yet, in the order of a level. */
struct rest {
	struct stream **list;
	size_t n, at;
};

static void rest_fill(struct rest *rest, const struct rd_snapshot *s, const struct level *level)
{
	rest->n = rest->at = 0;
	for (size_t i = 0; i < s->n_streams; i++)
		if (!s->streams[i].taken)
			rest->list[rest->n++] = &s->streams[i];
	qsort_r(rest->list, rest->n, sizeof(*rest->list), order_in, (void *)(uintptr_t)level);
}

/* Adds all that are like the first one to `sum`. */
static void rest_take(struct rest *rest, const struct level *level, struct numbers *sum)
{
	const struct stream *first = rest->list[rest->at];

	while (rest->at < rest->n && !stream_order(level, first, rest->list[rest->at])) {
		numbers_add(sum, &rest->list[rest->at]->n);
		rest->list[rest->at++]->taken = true;
	}
}

static struct change *change_add(struct rd_changes *c, enum presence presence,
	const struct stream *like, const struct level *level)
{
	struct change *change = &c->streams[c->n_streams++];

	*change = (struct change){.presence = presence, .like = *like, .same_qps = level->qps};
	return change;
}

static void change_judge(struct change *c)
{
	for (unsigned int i = 0; i < METRICS; i++)
		c->changed |= metric_value(i, &c->before, &c->after).change != 0;
	c->status = c->changed ? "changed" : "same";
}

static void match(
	struct rd_changes *c, struct rest *before, struct rest *after, const struct level *level)
{
	rest_fill(before, c->before, level);
	rest_fill(after, c->after, level);
	while (before->at < before->n && after->at < after->n) {
		const struct stream *x = before->list[before->at], *y = after->list[after->at];
		int order = stream_order(level, x, y);

		if (order) {
			struct rest *less = order < 0 ? before : after;

			less->at++;
			continue;
		}
		struct change *change = change_add(c, BOTH, y, level);

		rest_take(before, level, &change->before);
		rest_take(after, level, &change->after);
		change->before.part = c->before->left_out && !level->qps;
		change_judge(change);
	}
}

/* What has no partner. */
static void left_over(struct rd_changes *c, struct rest *rest, enum presence presence)
{
	rest_fill(rest, presence == BEFORE_ONLY ? c->before : c->after, &by_service);
	while (rest->at < rest->n) {
		struct change *change = change_add(c, presence, rest->list[rest->at], &by_service);

		rest_take(rest, &by_service,
			presence == BEFORE_ONLY ? &change->before : &change->after);
		change->unknown = presence == AFTER_ONLY && c->before->left_out;
		change->changed = !change->unknown;
		change->status = presence == BEFORE_ONLY ? "gone"
				 : change->unknown	 ? "unknown"
							 : "new";
	}
}

static uint64_t weight(const struct change *c)
{
	return c->before.frames > c->after.frames ? c->before.frames : c->after.frames;
}

/* Changed ones first, then the busiest. */
static int change_order(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->changed != y->changed)
		return x->changed ? -1 : 1;
	if (weight(x) != weight(y))
		return weight(x) > weight(y) ? -1 : 1;
	return stream_order(&levels[0], &x->like, &y->like);
}

/* --- findings --------------------------------------------------------------------------------- */

static bool is_other_count(uint64_t before, uint64_t after)
{
	uint64_t most = before > after ? before : after, least = before > after ? after : before;

	return most >= 10 && (double)most > 1.5 * (double)least;
}

static bool is_changed(const struct found *x, const struct found *y)
{
	return !x || !y || x->severity != y->severity || is_other_count(x->count, y->count) ||
	       (!x->by_rule && x->certainty != y->certainty);
}

/* The findings of a snapshot that are not matched yet, ordered by rule. */
struct found_rest {
	const struct rd_snapshot *s;
	size_t at;
};

static const struct found *found_next(const struct found_rest *rest)
{
	return rest->at < rest->s->n_found ? &rest->s->found[rest->at] : NULL;
}

/* All of one rule as one; NULL: there are none. Of findings that are only counted, severity and
 * certainty are unknown; those that are listed are the worst ones. */
static const struct found *found_by_rule(
	struct rd_changes *c, struct found_rest *rest, const char *rule)
{
	const struct rule_sum *sum = rule_sum(rest->s, rule);
	const struct found *x;
	struct found *all;

	if (!sum)
		return NULL;
	all = &c->by_rule[c->n_by_rule++];
	while ((x = found_next(rest)) && !strcmp(x->rule, rule)) {
		if (!all->by_rule || x->severity > all->severity)
			*all = *x;
		all->by_rule = true;
		rest->at++;
	}
	*all->from = *all->to = *all->where = '\0';
	all->n = sum->n;
	all->count = sum->count;
	return all;
}

static bool is_partial(const struct rd_snapshot *s, const char *rule)
{
	const struct rule_sum *sum = rule_sum(s, rule);

	return sum && sum->partial;
}

static void match_findings(struct rd_changes *c)
{
	struct found_rest b = {.s = c->before}, a = {.s = c->after};
	const struct found *x, *y;

	while (x = found_next(&b), y = found_next(&a), x || y) {
		int order = !x ? 1 : !y ? -1 : found_order(x, y);
		const char *rule = order <= 0 ? x->rule : y->rule;
		struct found_change *f = &c->found[c->n_found++];

		if (is_partial(c->before, rule) || is_partial(c->after, rule)) {
			f->before = found_by_rule(c, &b, rule);
			f->after = found_by_rule(c, &a, rule);
		} else {
			f->before = order <= 0 ? x : NULL;
			f->after = order >= 0 ? y : NULL;
			b.at += order <= 0;
			a.at += order >= 0;
		}
		f->changed = is_changed(f->before, f->after);
		f->shown = f->after ? *f->after : *f->before;
		f->status = !f->before	 ? "new"
			    : !f->after	 ? "gone"
			    : f->changed ? "changed"
					 : "same";
	}
}

static unsigned int rank(const struct found_change *f)
{
	return !f->before ? 0 : !f->after ? 1 : f->changed ? 2 : 3;
}

/* New ones, gone ones, changed ones, others; the worst first. */
static int finding_order(const void *a, const void *b)
{
	const struct found_change *x = a, *y = b;
	const struct found *p = &x->shown, *q = &y->shown;

	if (rank(x) != rank(y))
		return rank(x) < rank(y) ? -1 : 1;
	if (p->severity != q->severity)
		return p->severity > q->severity ? -1 : 1;
	if (p->certainty != q->certainty)
		return p->certainty > q->certainty ? -1 : 1;
	return found_order(p, q);
}

/* --- both ------------------------------------------------------------------------------------- */

int rd_changes_find(struct rd_changes **out, const struct rd_snapshot *before,
	const struct rd_snapshot *after, struct rd_error *err)
{
	struct rd_changes *c = calloc(1, sizeof(*c));
	struct rest b = {.list = calloc(before->n_streams + 1, sizeof(*b.list))};
	struct rest a = {.list = calloc(after->n_streams + 1, sizeof(*a.list))};
	const bool memory = c && a.list && b.list;

	if (memory) {
		c->before = before;
		c->after = after;
		c->streams = calloc(before->n_streams + after->n_streams + 1, sizeof(*c->streams));
		c->found = calloc(before->n_found + after->n_found + 1, sizeof(*c->found));
		c->by_rule = calloc(before->n_rules + after->n_rules + 1, sizeof(*c->by_rule));
	}
	if (!memory || !c->streams || !c->found || !c->by_rule) {
		free(b.list);
		free(a.list);
		rd_changes_free(c);
		return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot compare two reports");
	}
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		match(c, &b, &a, &levels[i]);
	left_over(c, &b, BEFORE_ONLY);
	left_over(c, &a, AFTER_ONLY);
	match_findings(c);
	qsort(c->streams, c->n_streams, sizeof(*c->streams), change_order);
	qsort(c->found, c->n_found, sizeof(*c->found), finding_order);
	free(b.list);
	free(a.list);
	*out = c;
	return 0;
}

void rd_changes_free(struct rd_changes *c)
{
	if (!c)
		return;
	free(c->streams);
	free(c->found);
	free(c->by_rule);
	free(c);
}
