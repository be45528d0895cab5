/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The main cause among the findings of a report, its place, and how certain both are. */
#include "verdict.h"
#include "../rules/rules.h"
#include <stdlib.h>

#define COSTS_MORE 10 /* times the time between the first and the last sign of congestion */
#define SHARED_MAX 64 /* findings of a group that are compared with those of another */

const char *rd_place_key(unsigned int places)
{
	static const char *const keys[RD_PLACES] = {
		"sender_host", "sender_nic", "fabric", "receiver_nic", "receiver_host"};

	if (!places)
		return NULL;
	return places & (places - 1) ? "unknown" : keys[__builtin_ctz(places)];
}

/*
 * The sort of capture that shows nothing of RDMA: its note is the verdict. Where frames may be RDMA
 * traffic that cannot be recognized, that is what is certain, and has a finding of its own.
 */
static bool says_nothing(
	const struct rd_report *r, const struct rd_finding *f, const struct cause *cause)
{
	return f->severity == RD_SEV_NOTE && cause->rank == SAYS_NOTHING &&
	       !(r->incomplete && !strcmp(f->rule, "no-rdma"));
}

/*
 * A sender that is paused, or asked to slow down, spends its time idle or sending whoever caused
 * that: its times do not show where the bottleneck is.
 */
static bool holds_senders_back(const char *rule)
{
	return rule_of(rule)->traits & HOLDS_BACK;
}

/* Whether the timeouts of g took far more time than there was congestion, which h is about. */
static bool costs_more(
	const struct rd_report *r, const struct rd_group *g, const struct rd_group *h)
{
	uint64_t all_ns;

	return rule_of(g->rule)->traits & BY_TIMER && holds_senders_back(h->rule) &&
	       g->finding[0]->certainty > RD_POSSIBLE &&
	       repeating_ns(r, g, &all_ns) > COSTS_MORE * (h->last_ns - h->first_ns);
}

/*
 * Which of two groups explains more: what the table knows first, since counters of a device count
 * what packets show; then timeouts that cost far more time than congestion; then problems, then
 * what is surer, then the cause's rank.
 */
static bool is_worse(const struct rd_report *r, const struct rd_group *g, const struct rd_group *h)
{
	const struct rd_finding *a = g->finding[0], *b = h->finding[0];
	bool likely[2] = {a->certainty > RD_POSSIBLE, b->certainty > RD_POSSIBLE};
	unsigned int rank[2] = {cause_of(a->rule)->rank, cause_of(b->rule)->rank};
	bool known[2] = {is_cause(cause_of(a->rule)), is_cause(cause_of(b->rule))};

	if (known[0] != known[1])
		return known[0];
	if (costs_more(r, g, h) || costs_more(r, h, g))
		return costs_more(r, g, h);
	if (a->severity != b->severity)
		return a->severity > b->severity;
	if (likely[0] != likely[1])
		return likely[0];
	if (rank[0] != rank[1])
		return rank[0] < rank[1];
	return g->count > h->count;
}

/* The group that is the verdict; NULL: no finding is a fault. */
static const struct rd_group *main_group(const struct rd_report *r)
{
	const struct rd_group *best = NULL;

	for (size_t i = 0; i < r->groups.n; i++) {
		const struct rd_group *g = &r->groups.group[i];
		const struct rd_finding *f = g->finding[0];
		const struct cause *cause = cause_of(f->rule);

		if (f->severity < RD_SEV_WARNING && !says_nothing(r, f, cause))
			continue;
		if (!best || is_worse(r, g, best))
			best = g;
	}
	return best;
}

/*
 * Where to capture to decide between these places: not where this capture was made. NULL: no
 * capture decides it.
 */
static const char *next_point(const struct rd_judgement *v, enum tap made_at)
{
	static const unsigned int of_receiver = RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST;

	if (!(v->places & RD_PLACE_FABRIC) || !(v->places & (v->places - 1)))
		return NULL;
	return v->places & of_receiver && made_at != TAP_RECEIVER ? v->receiver : v->sender;
}

/* How often h happened to sides of conversations for which g also has findings. */
static uint64_t shared_count(const struct rd_group *g, const struct rd_group *h)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < h->n && k < SHARED_MAX; k++) {
		const struct rd_finding *b = h->finding[k];

		for (size_t i = 0; i < g->n && i < SHARED_MAX; i++) {
			const struct rd_finding *a = g->finding[i];

			if (a->conversation != b->conversation || a->side != b->side)
				continue;
			sum += b->evidence.count;
			break;
		}
	}
	return sum;
}

/*
 * Loss and reordering, upstream and downstream, look alike where they are of the same
 * QPs: then all of them are named.
 */
static void mix(const struct rd_report *r, struct rd_judgement *v, const struct rd_group *g)
{
	const struct cause *mine = cause_of(g->rule);

	v->mixed = mine->mixed;
	v->count = g->count;
	for (size_t i = 0; mine->mixed && i < r->groups.n; i++) {
		const struct rd_group *h = &r->groups.group[i];
		const struct rd_finding *f = h->finding[0];
		const struct rd_conversation *c = conversation_of(r, f->conversation);
		const struct cause *other = cause_of(h->rule);
		uint64_t shared, first;

		if (h == g || !other->mixed || (mine->mixed ^ other->mixed) & RD_MIXED_RESPONSES)
			continue;
		shared = shared_count(g, h);
		if (!shared || shared * 4 < g->count)
			continue;
		v->mixed |= other->mixed;
		if (!(mine->mixed & RD_MIXED_RESPONSES)) /* else other units */
			v->count += shared;
		v->places |= other->places[c ? tap_of(c, f->side) : TAP_UNKNOWN];
		first = h->first_ns;
		if (first && first < v->since_ns)
			v->since_ns = first;
		v->until_ns = RD_MAX(v->until_ns, h->last_ns);
		v->certainty = RD_MAX(v->certainty, f->certainty);
	}
}

/* "10.0.0.1 -> 10.0.0.2", of a finding about no conversation. */
static void ends_of(struct rd_judgement *v, const char *where)
{
	const char *arrow = strstr(where, " -> ");

	if (!arrow)
		return;
	snprintf(v->sender, sizeof(v->sender), "%.*s", (int)(arrow - where), where);
	snprintf(v->receiver, sizeof(v->receiver), "%s", arrow + 4);
}

/* --- pauses ----------------------------------------------------------------------------------- */

/* Whether the file says that this is the address of a port that captured. */
static bool is_local(const struct rd_report *r, const char *address)
{
	return RD_ANY(c, r->conversations, r->n_conversations,
		c->local[0] != c->local[1] && !strcmp(c->end[c->local[1]].address, address));
}

/*
 * A host pauses with the MAC address of its RDMA packets. A router's address is also that of
 * packets of other hosts; a switch has its own. With packets of both directions, one of their
 * addresses is that of the host on this link; without, an unknown address may be that host's.
 */
static void place_pauser(
	const struct rd_report *r, struct rd_judgement *v, const struct rd_pause_sender *s)
{
	if (!s->has_mac)
		return;
	v->places = RD_PLACE_FABRIC;
	if (!*s->address) {
		if (!RD_ANY(c, r->conversations, r->n_conversations,
			    c->side[0].seen && c->side[1].seen))
			v->places |= RD_PLACE_RECEIVER_NIC;
		return;
	}
	snprintf(v->receiver, sizeof(v->receiver), "%s", s->address);
	if (is_local(r, s->address))
		v->places = RD_PLACE_RECEIVER_NIC;
	else
		v->places |= RD_PLACE_RECEIVER_NIC;
}

static void place_it(const struct rd_report *r, struct rd_judgement *v, const struct rd_group *g,
	const struct cause *cause)
{
	const struct rd_finding *f = g->finding[0];
	const struct rd_conversation *c = conversation_of(r, f->conversation);
	const struct rd_pause_sender *pauser = pauser_of(r, f);
	const enum tap tap = c ? tap_of(c, f->side) : TAP_UNKNOWN;
	const char *next;

	if (c)
		v->places = places_of(cause, c, f, tap);
	else if (is_cause(cause))
		v->places = cause->places[TAP_UNKNOWN];
	v->where = f->certainty < cause->where ? f->certainty : cause->where;
	mix(r, v, g);
	if (!c) {
		ends_of(v, f->where);
		if (pauser)
			place_pauser(r, v, pauser);
	} else {
		snprintf(v->sender, sizeof(v->sender), "%s", c->end[f->side].address);
		snprintf(v->receiver, sizeof(v->receiver), "%s", c->end[!f->side].address);
		v->owner[0] = c->owner[f->side];
		v->owner[1] = c->owner[!f->side];
	}
	if (c && v->places & RD_PLACE_FABRIC && is_incast(r, g, v->receiver) &&
		(!(v->places & RD_PLACE_RECEIVER_NIC) || fills_link(r, v->receiver))) {
		v->incast = host_of(r, v->receiver)->most_senders;
		v->places = RD_PLACE_FABRIC;
		v->where = RD_MIN(v->where, RD_LIKELY);
	}
	next = next_point(v, tap);
	snprintf(v->capture_next, sizeof(v->capture_next), "%s", next ? next : "");
}

/* Messages of the senders that a group is about; those that were not listed are unknown. */
static void count_messages(
	const struct rd_report *r, struct rd_judgement *v, const struct rd_group *g)
{
	for (size_t i = 0; i < g->n && !g->left_out; i++) {
		const struct rd_finding *f = g->finding[i];
		const struct rd_conversation *c = conversation_of(r, f->conversation);
		const struct rd_side *s = c ? &c->side[f->side] : NULL;

		for (unsigned int k = 0; s && k < RD_VERB_COUNT; k++)
			v->messages += rd_side_verb(s, k)->messages;
		v->delayed += s ? rd_side_incident(s, RD_INC_DELAYED)->count : 0;
	}
}

int verdict_make(struct rd_report *r)
{
	struct rd_judgement *v = &r->verdict;
	const struct rd_group *g;

	if (lookup_make(r) < 0 || flows_make(r) < 0 || groups_make(&r->groups, &r->findings) < 0 ||
		stragglers_find(r, &v->stragglers) < 0)
		return -1;
	slow_judge(r, &v->slow);
	for (size_t i = 0; i < r->groups.n; i++)
		if (v->slow.certainty > RD_POSSIBLE && holds_senders_back(r->groups.group[i].rule))
			v->slow.certainty = RD_POSSIBLE;
	g = main_group(r);
	if (g) {
		const struct rd_finding *f = g->finding[0];

		g = groups_lead(&r->groups, f->rule);
		v->rule = f->rule;
		v->severity = f->severity;
		v->certainty = f->certainty;
		v->conversation = f->conversation;
		v->since_ns = g->first_ns;
		v->until_ns = g->last_ns;
		count_messages(r, v, g);
		place_it(r, v, g, cause_of(f->rule));
	}
	return words_make(r, g);
}

void verdict_free(struct rd_judgement *v)
{
	for (unsigned int i = 0; i < RD_ROWS; i++)
		free(v->row[i]);
}
