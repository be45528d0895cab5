/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the comparison needs of a report: numbers and findings, added up. */
#include "compare.h"
#include <stdlib.h>
#include <string.h>

static void set_text(char *to, size_t capacity, const char *text)
{
	snprintf(to, capacity, "%s", text ? text : "");
}

struct rd_snapshot *snapshot_new(size_t conversations, size_t findings)
{
	struct rd_snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->conversations = conversations;
	s->streams = calloc(2 * conversations + 1, sizeof(*s->streams));
	s->found = calloc(findings + 1, sizeof(*s->found));
	s->rules = calloc(findings + 1, sizeof(*s->rules));
	if (s->streams && s->found && s->rules)
		return s;
	rd_snapshot_free(s);
	return NULL;
}

void rd_snapshot_free(struct rd_snapshot *s)
{
	if (!s)
		return;
	free(s->streams);
	free(s->found);
	free(s->rules);
	free(s);
}

void numbers_add(struct numbers *to, const struct numbers *x)
{
	if (!to->qps || x->first_ns < to->first_ns)
		to->first_ns = x->first_ns;
	if (x->last_ns > to->last_ns)
		to->last_ns = x->last_ns;
	to->qps += x->qps;
	to->frames += x->frames;
	to->requests += x->requests;
	to->goodput_bytes += x->goodput_bytes;
	to->retransmitted += x->retransmitted;
	to->lost += x->lost;
	to->different += x->different;
	to->naks += x->naks;
	to->rnr += x->rnr;
	to->cnp += x->cnp;
	to->ce += x->ce;
	for (unsigned int i = 0; i < LATENCIES; i++) {
		const uint64_t n = to->latency[i].n + x->latency[i].n;

		if (!x->latency[i].n)
			continue;
		/* The median of all is between theirs: weighted by their samples. */
		to->latency[i].p50 =
			(uint64_t)(((double)to->latency[i].p50 * (double)to->latency[i].n +
					   (double)x->latency[i].p50 * (double)x->latency[i].n) /
				   (double)n);
		if (x->latency[i].p99 > to->latency[i].p99)
			to->latency[i].p99 = x->latency[i].p99;
		to->latency[i].n = n;
	}
}

int found_order(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int order = strcmp(x->rule, y->rule);

	if (!order)
		order = strcmp(x->from, y->from);
	if (!order)
		order = strcmp(x->to, y->to);
	if (!order)
		order = strcmp(x->where, y->where);
	return order ? order : strcmp(x->counter, y->counter);
}

static int rule_order(const void *a, const void *b)
{
	const struct rule_sum *x = a, *y = b;

	return strcmp(x->rule, y->rule);
}

static void sum_rules(struct rd_snapshot *s)
{
	for (size_t i = 0; i < s->n_found; i++) {
		const struct found *x = &s->found[i];
		struct rule_sum *sum = s->n_rules ? &s->rules[s->n_rules - 1] : NULL;

		if (!sum || strcmp(sum->rule, x->rule) != 0) {
			sum = &s->rules[s->n_rules++];
			set_text(sum->rule, sizeof(sum->rule), x->rule);
		}
		sum->n += x->n;
		sum->count += x->count;
		sum->partial |= x->no_place;
		s->findings_left_out += x->no_place ? x->n : 0;
	}
}

struct rule_sum *rule_sum(const struct rd_snapshot *s, const char *rule)
{
	struct rule_sum key = {0};

	set_text(key.rule, sizeof(key.rule), rule);
	return bsearch(&key, s->rules, s->n_rules, sizeof(key), rule_order);
}

void rule_total(struct rd_snapshot *s, const char *rule, uint64_t n, uint64_t count)
{
	struct rule_sum *sum = rule_sum(s, rule);

	if (!sum || n <= sum->n)
		return;
	s->findings_left_out += n - sum->n;
	sum->n = n;
	sum->partial = true;
	if (count > sum->count)
		sum->count = count;
}

void found_join(struct rd_snapshot *s)
{
	size_t used = 0;

	qsort(s->found, s->n_found, sizeof(*s->found), found_order);
	for (size_t i = 0; i < s->n_found; i++) {
		struct found *last = used ? &s->found[used - 1] : NULL;
		const struct found *x = &s->found[i];

		if (!last || found_order(last, x)) {
			s->found[used++] = *x;
			continue;
		}
		if (x->severity > last->severity)
			last->severity = x->severity;
		if (x->certainty > last->certainty)
			last->certainty = x->certainty;
		last->n += x->n;
		last->count += x->count;
		last->no_place |= x->no_place;
	}
	s->n_found = used;
	sum_rules(s);
}
