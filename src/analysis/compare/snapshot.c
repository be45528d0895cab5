/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the comparison needs of a report: from the report itself, or from its JSON. */
#include "compare.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- both ------------------------------------------------------------------------------------- */

static void set_text(char *to, size_t capacity, const char *text)
{
	snprintf(to, capacity, "%s", text ? text : "");
}

static int no_memory(struct rd_snapshot *s, struct rd_error *err)
{
	rd_snapshot_free(s);
	return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot compare two reports");
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

uint64_t different_packets(uint64_t requests, uint64_t copies, uint64_t lost_upstream)
{
	return requests - (copies < requests ? copies : requests) + lost_upstream;
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

static struct rule_sum *find_rule(const struct rd_snapshot *s, const char *rule)
{
	struct rule_sum key = {0};

	set_text(key.rule, sizeof(key.rule), rule);
	return bsearch(&key, s->rules, s->n_rules, sizeof(key), rule_order);
}

const struct rule_sum *rule_sum(const struct rd_snapshot *s, const char *rule)
{
	return find_rule(s, rule);
}

void rule_total(struct rd_snapshot *s, const char *rule, uint64_t n, uint64_t count)
{
	struct rule_sum *sum = find_rule(s, rule);

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

/* --- of a report ------------------------------------------------------------------------------ */

static uint64_t incidents(const struct rd_side *s, enum rd_incident_kind kind)
{
	return rd_side_incident(s, kind)->count;
}

static struct numbers numbers_of(
	const struct rd_conversation *c, const struct rd_side *s, uint64_t origin_ns)
{
	struct numbers n = {.qps = 1,
		.frames = s->frames,
		.requests = s->requests,
		.goodput_bytes = s->goodput_bytes,
		.first_ns = UINT64_MAX,
		.retransmitted = incidents(s, RD_INC_RETRANSMITTED),
		.lost = incidents(s, RD_INC_LOST_UPSTREAM) + incidents(s, RD_INC_LOST_DOWNSTREAM),
		.rnr = incidents(s, RD_INC_RNR),
		.cnp = incidents(s, RD_INC_CNP),
		.ce = incidents(s, RD_INC_CE)};

	n.different =
		different_packets(n.requests, n.retransmitted + incidents(s, RD_INC_DUPLICATED),
			incidents(s, RD_INC_LOST_UPSTREAM));
	for (unsigned int i = RD_INC_NAK_SEQUENCE; i <= RD_INC_NAK_OTHER; i++)
		n.naks += incidents(s, i);
	for (unsigned int i = 0; i < 2; i++) {
		const struct rd_side *x = &c->side[i];

		if (!x->seen)
			continue;
		if (x->first_ns - origin_ns < n.first_ns)
			n.first_ns = x->first_ns - origin_ns;
		if (x->last_ns - origin_ns > n.last_ns)
			n.last_ns = x->last_ns - origin_ns;
	}
	for (unsigned int i = 0; i < LATENCIES; i++) {
		const struct rd_latency *l = rd_side_latency(s, i);

		n.latency[i].n = l->n;
		n.latency[i].p50 = l->p50;
		n.latency[i].p99 = l->p99;
	}
	return n;
}

static const char *verb_of(const struct rd_side *s)
{
	unsigned int best = RD_VERB_COUNT;

	for (unsigned int v = 0; v < RD_VERB_COUNT; v++)
		if (rd_side_verb(s, v)->packets &&
			(best == RD_VERB_COUNT ||
				rd_side_verb(s, v)->bytes > rd_side_verb(s, best)->bytes))
			best = v;
	return best == RD_VERB_COUNT ? "" : rd_verb_name((enum rd_verb)best);
}

static void take_conversation(
	struct rd_snapshot *s, const struct rd_conversation *c, uint64_t origin_ns)
{
	for (unsigned int side = 0; side < 2; side++) {
		const struct rd_endpoint *from = side ? &c->b : &c->a, *to = side ? &c->a : &c->b;
		struct stream *x = &s->streams[s->n_streams];

		if (!c->side[side].requests)
			continue;
		*x = (struct stream){.from_qp = from->qp, .to_qp = to->qp};
		set_text(x->from, sizeof(x->from), from->address);
		set_text(x->to, sizeof(x->to), to->address);
		set_text(x->transport, sizeof(x->transport), rd_transport_name(c->transport));
		set_text(x->verb, sizeof(x->verb), verb_of(&c->side[side]));
		if (c->connection)
			snprintf(x->service, sizeof(x->service), "0x%016" PRIx64,
				c->connection->service_id);
		x->n = numbers_of(c, &c->side[side], origin_ns);
		s->n_streams++;
	}
}

/* Conversations by their ids; holes are NULL. NULL if out of memory. */
static const struct rd_conversation **by_id(const struct rd_report *r, unsigned int *most)
{
	const struct rd_conversation **list;

	*most = 0;
	for (size_t i = 0; i < r->n_conversations; i++)
		if (r->conversations[i].id > *most)
			*most = r->conversations[i].id;
	list = calloc((size_t)*most + 1, sizeof(*list));
	for (size_t i = 0; list && i < r->n_conversations; i++)
		list[r->conversations[i].id] = &r->conversations[i];
	return list;
}

static void take_finding(
	struct found *x, const struct rd_finding *f, const struct rd_conversation *c)
{
	*x = (struct found){.severity = f->severity,
		.certainty = f->certainty,
		.n = 1,
		.count = f->evidence.count};
	set_text(x->rule, sizeof(x->rule), f->rule);
	set_text(x->title, sizeof(x->title), f->title);
	set_text(x->counter, sizeof(x->counter), f->counter);
	if (c) {
		set_text(x->from, sizeof(x->from), f->side ? c->b.address : c->a.address);
		set_text(x->to, sizeof(x->to), f->side ? c->a.address : c->b.address);
	} else {
		set_text(x->where, sizeof(x->where), f->where);
	}
}

int rd_snapshot_of_report(struct rd_snapshot **out, const struct rd_report *r, struct rd_error *err)
{
	struct rd_snapshot *s = snapshot_new(r->n_conversations, r->findings.n);
	unsigned int most;
	const struct rd_conversation **ids = by_id(r, &most);

	if (!s || !ids) {
		free(ids);
		return no_memory(s, err);
	}
	s->start_ns = r->totals.first_ns - r->totals.moved_ns;
	s->duration_ns = r->totals.last_ns - r->totals.first_ns;
	s->frames = r->totals.frames;
	for (size_t i = 0; i < r->n_conversations; i++)
		take_conversation(s, &r->conversations[i], r->totals.first_ns);
	for (size_t i = 0; i < r->findings.n; i++) {
		const struct rd_finding *f = &r->findings.finding[i];

		take_finding(&s->found[s->n_found++], f,
			f->conversation <= most ? ids[f->conversation] : NULL);
	}
	free(ids);
	found_join(s);
	for (size_t i = 0; i < r->groups.n; i++) {
		const struct rd_group *g = &r->groups.group[i];

		rule_total(s, g->rule, g->n + g->left_out, g->count);
	}
	*out = s;
	return 0;
}
