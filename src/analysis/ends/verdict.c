/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verdict of two captures of the same traffic: the main cause among the findings of their
 * comparison and of each capture alone, its place, and how certain both are. It is never more
 * certain than the finding that it rests on.
 */
#include "ends.h"
#include <stdlib.h>

/* --- the main cause --------------------------------------------------------------------------- */

/*
 * What is likely first, then what may be, and what that would explain; a fault that the other
 * capture refutes is the last.
 */
enum weight { FAULT, ANSWERED, POSSIBLE_FAULT, EXPLAINED, CAPTURE_ONLY, DOUBTFUL };

struct choice {
	struct culprit of;
	enum weight weight;
	unsigned int rank;
	bool elsewhere; /* only between other hosts than those of both captures */
};

/* As for one capture: problems, what is surer, then what is between these hosts, then by rank. */
static bool explains_more(const struct choice *a, const struct choice *b)
{
	const struct rd_finding *f = a->of.worst, *g = b->of.worst;
	const enum rd_certainty sure = a->of.certainty, other = b->of.certainty;

	return !b->of.group ||
	       (RD_ORDER(a->weight, b->weight) ?: RD_ORDER(g->severity, f->severity)
		       ?: RD_ORDER(other > RD_POSSIBLE, sure > RD_POSSIBLE)
		       ?: RD_ORDER(a->elsewhere, b->elsewhere) ?: RD_ORDER(a->rank, b->rank)
		       ?: RD_ORDER(other, sure)
		       ?: RD_ORDER(b->of.group->count, a->of.group->count)) < 0;
}

static void choose_comparison(const struct judging *j, struct choice *best)
{
	for (size_t i = 0; i < j->r->groups.n; i++) {
		const struct rd_group *g = &j->r->groups.group[i];
		const struct rd_finding *f = g->finding[0];
		const struct rule *rule = rule_in(rules_of_ends, g->rule);
		struct choice one = {.of = {.compared = rule,
					     .group = g,
					     .worst = f,
					     .certainty = f->certainty}};

		if (!rule)
			continue;
		one.of.cause = &rule->cause;
		one.rank = rule->cause.rank;
		if (f->severity < RD_SEV_WARNING)
			one.weight = f->certainty > RD_POSSIBLE ? CAPTURE_ONLY : DOUBTFUL;
		else if (f->certainty == RD_POSSIBLE)
			one.weight = POSSIBLE_FAULT;
		if (explains_more(&one, best))
			*best = one;
	}
}

/* The packets of one side of a conversation, and what both ends have of them; NULL: nothing. */
struct one_flow {
	const struct rd_endpoint *from, *to;
	uint32_t network;
	const struct rd_path *path;
	const struct rd_path_qp *w; /* the packets to that QP */
};

static struct one_flow flow_between(const struct judging *j, const struct rd_endpoint *from,
	const struct rd_endpoint *to, uint32_t network)
{
	const struct rd_path *p = ends_path(j->r, from->address, to->address, network);
	const struct rd_path_qp *of = NULL;

	if (p)
		of = RD_FIND(w, p->qps, p->n_qps, w->qp == to->qp);
	return (struct one_flow){from, to, network, p, of};
}

static struct one_flow flow_of(
	const struct judging *j, const struct rd_conversation *c, unsigned int side)
{
	return flow_between(j, &c->end[side], &c->end[!side], c->network);
}

static struct one_flow back_of(const struct judging *j, const struct one_flow *flow)
{
	return flow_between(j, flow->to, flow->from, flow->network);
}

/* How often packets of a conversation, of either direction, were lost between, or missed. */
static void count_lone(
	const struct judging *j, const struct rd_conversation *c, uint64_t *lost, uint64_t *missed)
{
	for (unsigned int side = 0; side < 2; side++) {
		const struct rd_path_qp *w = flow_of(j, c, side).w;

		*lost += w && w->lost.count ? w->lost_runs : 0;
		*missed += w ? w->missed.count + w->missed_at_receiver.count : 0;
	}
}

/*
 * What follows from the absence of packets is not likely any more once the other capture shows that
 * this one missed some. What is certain holds whatever was missed.
 */
static enum rd_certainty certainty_of(
	const struct judging *j, enum rd_tap tap, const struct rd_finding *f)
{
	return f->certainty == RD_LIKELY && !trusted(&j->trust[tap]) ? RD_POSSIBLE : f->certainty;
}

/* Whether a conversation was captured at both ends. */
static bool has_both(const struct rd_ends_report *e, const struct rd_conversation *c)
{
	return c && (ends_path(e, c->end[0].address, c->end[1].address, c->network) ||
			    ends_path(e, c->end[1].address, c->end[0].address, c->network));
}

static enum weight weight_of(
	struct judging *j, const struct rd_finding *f, bool likely, const struct rd_conversation *c)
{
	uint64_t lost = 0, missed = 0;

	if (f->severity < RD_SEV_WARNING)
		return CAPTURE_ONLY;
	if (has_both(j->r, c))
		count_lone(j, c, &lost, &missed);
	/* Each timeout has its loss. */
	if (lost && lost >= f->evidence.count && !strcmp(f->rule, "timeout"))
		return EXPLAINED;
	if (!has_both(j->r, c) || !ends_answer(f->rule))
		return likely ? FAULT : POSSIBLE_FAULT;
	/* What one capture takes for loss is in the other one: one of them missed packets. */
	return missed ? DOUBTFUL : likely ? ANSWERED : POSSIBLE_FAULT;
}

static void choose_of_capture(struct judging *j, enum rd_tap tap, struct choice *best)
{
	const struct rd_report *r = j->reports[tap];

	for (size_t i = 0; i < r->groups.n; i++) {
		const struct rd_group *g = &r->groups.group[i];
		const struct rd_finding *f = g->finding[0];
		const struct cause *cause = cause_of(f->rule);
		const struct rd_conversation *c = conversation_of(r, f->conversation);
		struct choice one = {.elsewhere = true,
			.of = {.cause = cause, .group = g, .worst = f, .tap = tap},
			.rank = cause->rank};

		/* A fault, or a note that there is nothing to judge. */
		if (!is_cause(cause) ||
			(f->severity < RD_SEV_WARNING && cause->rank != SAYS_NOTHING))
			continue;
		one.of.certainty = certainty_of(j, tap, f);
		one.weight = weight_of(j, f, one.of.certainty > RD_POSSIBLE, c);
		for (size_t k = 0; k < g->n && one.elsewhere; k++) {
			c = conversation_of(r, g->finding[k]->conversation);
			one.elsewhere = c && !has_both(j->r, c);
		}
		if (explains_more(&one, best))
			*best = one;
	}
}

/* --- its place -------------------------------------------------------------------------------- */

/* Whether this capture was made at the port of the host, as the files say. */
static bool is_at_port(const struct judging *j, enum rd_tap tap, const char *host)
{
	return is_local(j->reports[tap], host) ||
	       RD_ANY(p, j->r->paths, j->r->n_paths,
		       p->sent_by_host[tap] && !strcmp(p->from, host));
}

/* The place follows only if that capture was made at the port of this host. */
static void assume(struct judging *j, struct culprit *x, enum rd_tap tap, const char *host)
{
	x->at = tap;
	x->assumed = !is_at_port(j, tap, host);
	if (x->assumed)
		j->r->verdict.where = RD_POSSIBLE;
}

/* "10.0.0.1 -> 10.0.0.2 QP 0x11 (network 7)" */
static void parse_where(struct rd_judgement *v, const char *where, struct culprit *x)
{
	static const char before[] = "(network ";
	const char *arrow = strstr(where, " -> "), *to = arrow ? arrow + 4 : where;
	const char *network = strstr(where, before);
	const size_t length = strcspn(to, " ");

	snprintf(v->sender, sizeof(v->sender), "%.*s", arrow ? (int)(arrow - where) : 0, where);
	snprintf(v->receiver, sizeof(v->receiver), "%.*s", (int)length, to);
	x->qp = !strncmp(to + length, " QP ", 4) ? (uint32_t)strtoul(to + length + 4, NULL, 16) : 0;
	x->network = network ? (uint32_t)strtoul(network + strlen(before), NULL, 10) : 0;
}

static void place_comparison(struct judging *j, struct culprit *x)
{
	struct rd_judgement *v = &j->r->verdict;
	const struct concern *c = j->concerns;
	const struct rd_path *p;

	parse_where(v, x->worst->where ? x->worst->where : "", x);
	x->path = p = ends_path(j->r, v->sender, v->receiver, x->network);
	v->places = x->cause->places[TAP_UNKNOWN];
	v->where = x->worst->certainty;
	while (c < j->concerns + ENDS_RULES && (!c->rule || strcmp(c->rule, v->rule)))
		c++;
	if (c < j->concerns + ENDS_RULES && c->delayed <= c->messages) {
		v->messages = c->messages;
		v->delayed = c->delayed;
	}
	if (!p)
		return;
	if (x->compared->traits & MISSED_BY_SENDER)
		j->r->missed_by |= 1U << p->sender;
	if (x->compared->traits & MISSED_BY_RECEIVER ||
		(!strcmp(v->rule, "lost-between") && v->certainty == RD_POSSIBLE))
		j->r->missed_by |= 1U << !p->sender;
	if (v->places == RD_PLACE_SENDER_NIC)
		assume(j, x, p->sender, v->sender);
	else if (v->places == RD_PLACE_RECEIVER_NIC)
		assume(j, x, !p->sender, v->receiver);
}

/* Whether all of it is in the time that both captures cover, within the error of their clocks. */
static bool both_cover(const struct judging *j)
{
	const struct rd_judgement *v = &j->r->verdict;
	const uint64_t margin = j->r->edge_ns;

	return v->since_ns >= j->r->first_ns + margin && v->until_ns + margin <= j->r->last_ns;
}

/* Likely lost, and not missed by a capture. */
static bool is_likely_lost(const struct rd_path_qp *w, uint64_t since)
{
	return w->lost_likely && w->lost.last_ns >= since;
}

/* Where no packet of a QP arrives, the receiver's capture shows by others that the path lost it. */
static bool is_lost_late(const struct one_flow *flow, uint64_t since)
{
	const struct rd_path *p = flow->path;
	const struct rd_path_qp *w = flow->w;

	return w && (is_likely_lost(w, since) ||
			    (w->lost.count && !w->arrived &&
				    RD_ANY(q, p->qps, p->n_qps, is_likely_lost(q, since))));
}

static bool passes_whole(const struct rd_path_qp *w)
{
	return w->arrived && !w->lost.count && !w->unclear.count;
}

/* Whether packets of other QPs go this way at both ends: then responses would be captured. */
static bool has_packets(const struct rd_path *p)
{
	return p && p->sender_known && RD_ANY(w, p->qps, p->n_qps, w->arrived);
}

/* Whether all delays between the two capture points are too short for a sender's timer. */
static bool is_fast(const struct judging *j, const struct rd_path *p)
{
	return !p || p->variation.max < RD_ENDS_LATE_NS + j->r->clock_steps_ns;
}

/*
 * A request without a response in time: if all packets of both directions that one capture has are
 * soon in the other one, nothing happened to them between; if the last ones are lost there, it did.
 */
static void place_unanswered(struct judging *j, struct culprit *x, const struct one_flow *flow)
{
	struct rd_judgement *v = &j->r->verdict;
	const struct one_flow back = back_of(j, flow);

	if (!flow->w || !flow->path->sender_known || !both_cover(j))
		return;
	if (passes_whole(flow->w) && (back.w ? passes_whole(back.w) : has_packets(back.path))) {
		if (!is_fast(j, flow->path) || !is_fast(j, back.path))
			return;
		v->places &= ~(unsigned int)RD_PLACE_FABRIC;
		assume(j, x, !flow->path->sender, v->receiver);
	} else if (is_lost_late(flow, v->until_ns) || is_lost_late(&back, v->until_ns)) {
		v->places = RD_PLACE_FABRIC; /* likely at most: its cause */
	}
}

/* Lost or late, but not between the capture points: what one capture has of them, the other has. */
static void place_outside(
	struct judging *j, struct culprit *x, const struct one_flow *flow, unsigned int mixed)
{
	struct rd_judgement *v = &j->r->verdict;
	const struct rd_path *p = flow->path;
	const struct rd_path_qp *w = mixed & RD_MIXED_RESPONSES ? back_of(j, flow).w : flow->w;
	const unsigned int rest = v->places & ~(unsigned int)RD_PLACE_FABRIC;

	/* A receiver may take packets for lost that are reordered between. */
	if (!both_cover(j) || !w || !passes_whole(w) || w->reordered || w->order_unclear || !p ||
		!p->sender_known || !rest || rest == v->places)
		return;
	v->places = rest;
	if (rest & RD_PLACE_SENDER_NIC)
		assume(j, x, p->sender, v->sender);
	else
		assume(j, x, !p->sender, v->receiver);
}

/* Damaged at the receiver: the sender's capture shows whether they were damaged before. */
static void place_damaged(
	struct judging *j, struct culprit *x, const struct one_flow *flow, enum tap seen_at)
{
	struct rd_judgement *v = &j->r->verdict;
	const struct rd_path *p = flow->path;
	const struct rd_totals *totals = p ? &j->reports[p->sender]->totals : NULL;
	const struct rd_side *s = p ? side_in(j->reports[p->sender], p, flow->to->qp) : NULL;

	if (!s || !p->sender_known || !totals->icrc_trusted || !totals->icrc_good)
		return;
	if (rd_side_incident(s, RD_INC_ICRC)->count) {
		v->places = RD_PLACE_SENDER_NIC;
		assume(j, x, p->sender, p->from);
	} else if (seen_at == TAP_RECEIVER) {
		v->places = RD_PLACE_FABRIC;
	}
}

/*
 * A receiver sends CNPs at once after marked packets. If all packets of the sender are in the
 * receiver's capture, and none has a mark there, none was marked between the capture points.
 */
static void place_congested(struct judging *j, struct culprit *x, const struct one_flow *flow)
{
	const struct rd_path *p = flow->path;
	const enum rd_tap receiver = p ? !p->sender : RD_TAP_A;
	const struct rd_side *s = p ? side_in(j->reports[receiver], p, flow->to->qp) : NULL;

	if (!s || !flow->w || !p->sender_known || !passes_whole(flow->w) ||
		!trusted(&j->trust[receiver]) || rd_side_incident(s, RD_INC_CE)->count ||
		rd_side_incident(s, RD_INC_CNP)->count < 2)
		return;
	j->r->verdict.places = RD_PLACE_RECEIVER_NIC;
	assume(j, x, receiver, j->r->verdict.receiver);
}

/* At which end this capture is, seen from the packets of one side of a conversation. */
static enum tap tap_by_paths(const struct judging *j, enum rd_tap tap, const struct one_flow *flow)
{
	const struct rd_path *p = flow->path, *back = back_of(j, flow).path;

	if (p && p->sender_known)
		return p->sender == tap ? TAP_SENDER : TAP_RECEIVER;
	if (back && back->sender_known)
		return back->sender == tap ? TAP_RECEIVER : TAP_SENDER;
	return TAP_UNKNOWN;
}

/* The same likely finding of the other capture leaves only the places that both name. */
static void narrow(struct judging *j, struct culprit *x, const struct one_flow *flow)
{
	const enum rd_tap other = !x->tap;
	const struct rd_report *r = j->reports[other];
	struct rd_judgement *v = &j->r->verdict;

	for (size_t i = 0; i < r->findings.n; i++) {
		const struct rd_finding *f = &r->findings.finding[i];
		const struct rd_conversation *c = conversation_of(r, f->conversation);
		unsigned int places;
		struct one_flow same;
		enum tap at;

		if (!c || strcmp(f->rule, x->worst->rule) != 0)
			continue;
		same = flow_of(j, c, f->side);
		if (same.to->qp != flow->to->qp || same.path != flow->path ||
			strcmp(same.from->address, flow->from->address) != 0 ||
			strcmp(same.to->address, flow->to->address) != 0)
			continue;
		at = tap_by_paths(j, other, flow);
		places = v->places & places_of(x->cause, c, f, at);
		if (f->certainty < x->worst->certainty || places == v->places)
			return;
		v->places = places;
		assume(j, x, other, at == TAP_SENDER ? v->sender : v->receiver);
		return;
	}
}

static void place_of_capture(struct judging *j, struct culprit *x)
{
	static const unsigned int unanswered = RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC;
	struct rd_judgement *v = &j->r->verdict;
	const struct rd_report *r = j->reports[x->tap];
	const struct rd_judgement *alone = &r->verdict;
	const struct cause *cause = x->cause;
	const struct rd_conversation *c = conversation_of(r, x->worst->conversation);
	struct one_flow flow;
	enum tap at;

	v->where = v->certainty < cause->where ? v->certainty : cause->where;
	if (!c) {
		parse_where(v, x->worst->where ? x->worst->where : "", x);
		if (alone->rule && !strcmp(alone->rule, x->worst->rule))
			v->places = alone->places;
		return;
	}
	flow = flow_of(j, c, x->worst->side);
	x->network = c->network;
	x->qp = flow.to->qp;
	snprintf(v->sender, sizeof(v->sender), "%s", flow.from->address);
	snprintf(v->receiver, sizeof(v->receiver), "%s", flow.to->address);
	at = tap_by_paths(j, x->tap, &flow);
	v->places = places_of(cause, c, x->worst, at);
	if (cause->places[at] != cause->places[TAP_UNKNOWN])
		assume(j, x, x->tap, at == TAP_SENDER ? v->sender : v->receiver);
	narrow(j, x, &flow);
	if (alone->incast && !strcmp(alone->rule, x->worst->rule)) {
		v->incast = alone->incast;
		v->places = alone->places;
	} else if (!strcmp(x->worst->rule, "damaged")) {
		place_damaged(j, x, &flow, at);
	} else if (!strcmp(x->worst->rule, "cnp")) {
		place_congested(j, x, &flow);
	} else if (cause->mixed) {
		place_outside(j, x, &flow, cause->mixed);
	} else if ((v->places & unanswered & ~(unsigned int)RD_PLACE_FABRIC) &&
		   (v->places & RD_PLACE_FABRIC)) {
		place_unanswered(j, x, &flow);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

/* In A's clock. */
static uint64_t in_clock_of_a(const struct judging *j, const struct culprit *x, uint64_t ns)
{
	if (!ns || x->compared || x->tap == RD_TAP_A)
		return ns;
	ns += j->reports[RD_TAP_A]->totals.moved_ns - j->reports[RD_TAP_B]->totals.moved_ns;
	return j->r->start_ns + (uint64_t)rd_ends_time(ns, j->r->start_ns, j->r->offset_ns);
}

static void place(struct judging *j, struct culprit *x)
{
	struct rd_judgement *v = &j->r->verdict;

	if (x->compared)
		x->group = groups_lead(&j->r->groups, x->worst->rule);
	else
		j->r->shown_by = 1U << x->tap;
	v->rule = x->worst->rule;
	v->severity = x->worst->severity;
	v->certainty = x->certainty;
	v->count = x->group->count;
	v->since_ns = in_clock_of_a(j, x, x->group->first_ns);
	v->until_ns = in_clock_of_a(j, x, x->group->last_ns);
	if (x->compared)
		place_comparison(j, x);
	else
		place_of_capture(j, x);
}

bool ends_judge(struct judging *j)
{
	struct choice best = {.weight = DOUBTFUL};
	bool ok;

	ok = groups_make(&j->r->groups, &j->r->findings) == 0;
	if (ok) {
		choose_comparison(j, &best);
		for (int tap = 0; tap < RD_TAPS; tap++)
			choose_of_capture(j, (enum rd_tap)tap, &best);
		if (best.of.group)
			place(j, &best.of);
		ok = ends_sentences(j, &best.of);
	}
	return ok;
}

/* --- what the captures alone advise ----------------------------------------------------------- */

int rd_ends_refer(const struct rd_ends_report *e, struct rd_report *const reports[RD_TAPS])
{
	for (int end = 0; end < RD_TAPS; end++) {
		struct rd_report *r = reports[end];

		for (size_t i = 0; i < r->findings.n; i++) {
			struct rd_finding *f = &r->findings.finding[i];

			if (ends_answer(f->rule) &&
				has_both(e, conversation_of(r, f->conversation)))
				f->next = "see what both ends show of this path, above";
		}
		if (has_both(e, conversation_of(r, r->verdict.conversation)) &&
			rd_verdict_refer(r) < 0)
			return -1;
	}
	return 0;
}
