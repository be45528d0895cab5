/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Matches the traffic and the findings of two analyses. A queue pair is compared with itself if its
 * numbers are the same; else, since programs get new numbers when they start again, all queue pairs
 * with the same addresses, transport, verb and service are compared as one.
 */
#include "compare.h"
#include <errno.h>
#include <rdmadump/order.h>
#include <stdlib.h>

/* The items of a snapshot that are not matched yet, in the order of a level. */
struct rest {
	const struct items *all;
	struct item **list;
	size_t n, at;
};

static int order_in(const void *a, const void *b, void *level)
{
	const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;

	return item_order(*(const unsigned int *)level, x, y) ?: RD_ORDER(x, y);
}

static void rest_fill(struct rest *rest, unsigned int level)
{
	rest->n = rest->at = 0;
	for (size_t i = 0; i < rest->all->n; i++)
		if (!rest->all->item[i].taken && rest->all->item[i].n[N_ITEMS])
			rest->list[rest->n++] = &rest->all->item[i];
	qsort_r(rest->list, rest->n, sizeof(*rest->list), order_in, &level);
}

/* Adds all that are like the first one to `sum`. */
static void rest_take(struct rest *rest, unsigned int level, struct item *sum)
{
	const struct item *first = rest->list[rest->at];

	while (rest->at < rest->n && !item_order(level, first, rest->list[rest->at])) {
		item_add(sum, rest->list[rest->at]);
		rest->list[rest->at++]->taken = true;
	}
}

static bool is_other_count(uint64_t before, uint64_t after)
{
	uint64_t most = before > after ? before : after, least = before > after ? after : before;

	return most >= 10 && (double)most > 1.5 * (double)least;
}

static bool is_changed(const struct change *c)
{
	const struct item *x = &c->before, *y = &c->after;
	bool changed = x->severity != y->severity || is_other_count(x->n[N_COUNT], y->n[N_COUNT]) ||
		       (!c->shown.partial && x->certainty != y->certainty);

	for (unsigned int i = 0; i < METRICS; i++)
		changed |= metric_value(i, c).change != 0;
	return changed;
}

static void judge(struct change *c, bool left_out)
{
	const bool was = c->before.n[N_ITEMS], is = c->after.n[N_ITEMS];

	c->shown = is ? c->after : c->before;
	c->part = left_out && !(c->level & BIT(FROM_QP));
	c->unknown = !was && left_out;
	c->changed = was && is ? is_changed(c) : !c->unknown;
	c->status = c->unknown	 ? "unknown"
		    : !was	 ? "new"
		    : !is	 ? "gone"
		    : c->changed ? "changed"
				 : "same";
}

struct matching {
	struct rest before, after;
	bool left_out; /* the earlier report lacks some of the traffic */
	struct list *out;
};

/* `alone`: also what has no partner. */
static void match(struct matching *m, unsigned int level, bool alone)
{
	struct rest *b = &m->before, *a = &m->after;

	rest_fill(b, level);
	rest_fill(a, level);
	while (b->at < b->n || a->at < a->n) {
		const int order = b->at == b->n ? 1
				  : a->at == a->n
					  ? -1
					  : item_order(level, b->list[b->at], a->list[a->at]);
		struct change *c = &m->out->change[m->out->n];

		if (order && !alone) {
			(order < 0 ? b : a)->at++;
			continue;
		}
		c->level = level;
		if (order <= 0)
			rest_take(b, level, &c->before);
		if (order >= 0)
			rest_take(a, level, &c->after);
		judge(c, m->left_out);
		m->out->n++;
	}
}

/* False if out of memory. */
static bool matching_begin(
	struct matching *m, const struct items *before, const struct items *after, struct list *out)
{
	*m = (struct matching){.out = out, .before.all = before, .after.all = after};
	m->before.list = calloc(before->n + 1, sizeof(*m->before.list));
	m->after.list = calloc(after->n + 1, sizeof(*m->after.list));
	out->change = calloc(before->n + after->n + 1, sizeof(*out->change));
	return m->before.list && m->after.list && out->change;
}

static void matching_end(struct matching *m, int (*order)(const void *a, const void *b))
{
	free(m->before.list);
	free(m->after.list);
	if (m->out->n)
		qsort(m->out->change, m->out->n, sizeof(*m->out->change), order);
}

/* --- traffic ---------------------------------------------------------------------------------- */

static uint64_t weight(const struct change *c)
{
	const uint64_t before = c->before.n[N_FRAMES], after = c->after.n[N_FRAMES];

	return before > after ? before : after;
}

/* Changed ones first, then the busiest. */
static int stream_order(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return RD_ORDER(y->changed, x->changed) ?: RD_ORDER(weight(y), weight(x))
		?: item_order(BY_QPS, &x->shown, &y->shown);
}

static bool match_streams(struct rd_changes *c)
{
	struct matching m;
	const bool memory =
		matching_begin(&m, &c->before->streams, &c->after->streams, &c->streams);

	m.left_out = c->before->left_out;
	if (memory) {
		match(&m, BY_QPS, false);
		match(&m, BY_SERVICE, false);
		match(&m, BY_VERB, false);
		match(&m, BY_SERVICE, true);
	}
	matching_end(&m, stream_order);
	return memory;
}

/* --- findings --------------------------------------------------------------------------------- */

static unsigned int rank(const struct change *c)
{
	return !c->before.n[N_ITEMS] ? 0 : !c->after.n[N_ITEMS] ? 1 : c->changed ? 2 : 3;
}

/* New ones, gone ones, changed ones, others; the worst first. */
static int finding_order(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	const struct item *p = &x->shown, *q = &y->shown;

	return RD_ORDER(rank(x), rank(y)) ?: RD_ORDER(q->severity, p->severity)
		?: RD_ORDER(q->certainty, p->certainty) ?: item_order(BY_PLACE, p, q);
}

/* Where a report has only a part of the findings of a rule, all its places are one. */
static void join_places(const struct items *const both[2], json_t *rules)
{
	for (unsigned int end = 0; end < 2; end++)
		for (size_t i = 0; i < both[end]->n; i++)
			if (both[end]->item[i].partial)
				json_object_set_new(rules, item_text(&both[end]->item[i], KEY_RULE),
					json_true());
	for (unsigned int end = 0; end < 2; end++)
		for (size_t i = 0; i < both[end]->n; i++) {
			struct item *x = &both[end]->item[i];

			x->partial = json_object_get(rules, item_text(x, KEY_RULE));
			for (unsigned int k = KEY_FROM; k <= KEY_COUNTER && x->partial; k++) {
				json_decref(x->key[k]);
				x->key[k] = NULL;
			}
		}
}

static bool match_findings(struct rd_changes *c)
{
	const struct items *const both[] = {&c->before->found, &c->after->found};
	json_t *rules = json_object();
	struct matching m;
	const bool memory = matching_begin(&m, both[0], both[1], &c->found) && rules;

	if (memory) {
		join_places(both, rules);
		match(&m, BY_PLACE, true);
	}
	json_decref(rules);
	matching_end(&m, finding_order);
	return memory;
}

/* --- both ------------------------------------------------------------------------------------- */

int rd_changes_find(struct rd_changes **out, const struct rd_snapshot *before,
	const struct rd_snapshot *after, struct rd_error *err)
{
	struct rd_changes *c = calloc(1, sizeof(*c));

	if (c)
		*c = (struct rd_changes){.before = before, .after = after};
	if (!c || !match_streams(c) || !match_findings(c)) {
		rd_changes_free(c);
		return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot compare two reports");
	}
	*out = c;
	return 0;
}

void rd_changes_free(struct rd_changes *c)
{
	if (!c)
		return;
	free(c->streams.change);
	free(c->found.change);
	free(c);
}
