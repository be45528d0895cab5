/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What receivers send back, packet by packet: ACKs, READ and atomic responses, CNPs; nak.c has
 * NAKs. IBTA volume 1: 9.7.5.1 (responses).
 */
#include "request.h"
#include "round.h"

#define RECONNECT_NS UINT64_C(1000000) /* the least time to make another connection */
#define MISSES_MAX   8 /* responses that do not fit, before two flows are no longer a pair */

/* --- the number of messages ------------------------------------------------------------------- */

/*
 * A responder counts the messages that it completes. If the count falls while PSNs rise, a new
 * connection uses the QP: the PSNs between both were never sent.
 */
static void count_restarts(struct rd_analysis *a, struct flow *r, uint32_t psn)
{
	const struct seq *seen = r->trouble ? &r->trouble->seen : NULL;

	flow_incident(a, r, RD_INC_RESTART, 1);
	responses_restart(r);
	if (psn_diff(psn, r->req.next) >= 0) {
		flow_expect(r, psn_add(psn, 1));
	} else if (seen && seen->n_holes) {
		const struct hole *last = &seen->holes[seen->n_holes - 1];
		uint32_t first = psn_add(last->psn, last->n);

		if (psn_diff(first, r->ack.una) > 0 && psn_diff(first, psn) <= 0)
			r->ack.una = first;
		r->trouble->seen.n_holes = 0;
	}
}

/*
 * The first response after a gap between messages. If the same connection goes on, the count has
 * risen by the messages captured since then, and by one at least that was missed; that of a new one
 * began at 0. The number captured is exact where nothing more is open. Returns true if another
 * connection began.
 */
static bool gap_restarts(struct flow *r, uint32_t psn, uint32_t msn, bool exact)
{
	struct trouble *t = r->trouble;
	uint64_t captured = messages_of(r) - t->gap_messages;
	int32_t more = psn_diff(msn, t->gap_msn);

	t->gap_open = false;
	if (!seq_is_hole(&t->seen, psn_add(t->gap_next, 0xffffff)))
		return false; /* captured since then */
	if (more > 0 && (uint64_t)more > captured)
		return false;
	if (exact && t->gap_msn && r->ack.counts && psn_add(psn, 1) == r->req.next && more >= 0)
		return true;
	t->unclear.gap = true;
	return false;
}

/*
 * An ACK for a retransmission has the count of now. If that is less than before, the requests were
 * none of those with the same PSNs that were captured before.
 */
static void count_falls(struct flow *r, uint32_t psn, bool exact)
{
	if (exact && r->trouble && r->round.frame && psn_diff(psn, r->round.psn) >= 0 &&
		psn_diff(psn, r->round.top) < 0)
		r->trouble->unclear.again = true;
}

/* The number falls, stays or is the first one, or packets were missing: what that shows. */
static __attribute__((noinline)) void messages_judged(
	struct rd_analysis *a, struct flow *r, uint32_t psn, uint32_t msn, bool exact)
{
	int32_t more = psn_diff(msn, r->ack.msn);

	if (r->trouble && r->trouble->gap_open && psn_diff(psn, r->trouble->gap_next) >= 0 &&
		gap_restarts(r, psn, msn, exact)) {
		count_restarts(a, r, psn);
	} else if (more <= 0 && r->ack.msn && r->ack.acked) {
		if (more < 0)
			count_falls(r, psn, exact);
		if (more == 0 || psn_diff(psn, r->ack.una) < 0 ||
			psn_diff(psn, r->ack.msn_psn) <= 0 || psn_diff(psn, r->req.next) > FAR)
			return;
		count_restarts(a, r, psn);
	} else {
		r->ack.counts |= r->ack.msn != 0;
	}
	r->ack.msn_psn = psn;
	r->ack.msn = msn;
}

/* `exact`: the response is an ACK, not the copy of a response that was sent before. */
static inline void messages_completed(
	struct rd_analysis *a, struct flow *r, uint32_t psn, uint32_t msn, bool exact)
{
	if (r->trouble || !r->ack.counts || psn_diff(msn, r->ack.msn) <= 0) {
		messages_judged(a, r, psn, msn, exact);
		return;
	}
	r->ack.msn_psn = psn;
	r->ack.msn = msn;
}

/* The same for a READ or atomic response, of which not all have the count. */
static void messages_counted(struct rd_analysis *a, struct flow *r, const struct rd_packet *p)
{
	struct rd_aeth aeth;

	if (r && r->req.started && rd_packet_aeth(p, &aeth))
		messages_completed(a, r, p->psn, aeth.msn, false);
}

/* --- READ responses --------------------------------------------------------------------------- */

/* n responses before psn are missing. */
static void response_gap(
	struct rd_analysis *a, struct flow *f, struct flow *r, uint32_t psn, uint32_t n)
{
	struct seq *missing = flow_missing(a, f);

	mark_frame(a, f, RD_INC_RESPONSE_GAP, false);
	if (!r || r->ack.gap_open)
		flow_incident(a, f, RD_INC_RESPONSE_GAP, 1);
	if (r && r->ack.gap_open)
		gap_more(a, r);
	if (missing)
		seq_add_hole(missing, psn_add(psn, 0x1000000 - n), n);
	if (r)
		gap_begin(a, r, psn_add(psn, 0x1000000 - n));
}

/*
 * Whether the requester accepts a response: the next one; the first one to a READ also if only
 * requests without responses are before it. After a missing response it accepts none. If the
 * requester continues without a retransmission, only the capture missed the response.
 */
static bool is_taken(struct rd_analysis *a, struct flow *r, const struct rd_packet *p)
{
	bool others = r->req.verb_at[RD_VERB_SEND] || r->req.verb_at[RD_VERB_WRITE];

	if (!r->req.started || !r->ack.acked || p->psn == r->ack.una ||
		(r->ack.gap_open && p->psn == r->ack.gap_psn)) {
		r->ack.gap_open = false;
		return true;
	}
	if (psn_diff(p->psn, r->ack.una) < 0)
		return false;
	if (!r->ack.gap_open && p->op->bits & RD_OP_FIRST && others)
		return true;
	gap_begin(a, r, r->ack.una);
	responded(a, r);
	if (p->op->bits & RD_OP_LAST)
		gap_passed(a, r);
	return !r->ack.gap_open;
}

/*
 * The copy of a response that has no IP identification: a responder sends one again only if it gets
 * the request again, and this requester has repeated none.
 */
static bool is_unrequested(const struct flow *r, const struct item *it)
{
	return !HAS_IP_ID(it->ip_id) && r && r->ack.acked && !r->round.frame &&
	       !incident_of(&r->incidents, RD_INC_RETRANSMITTED) &&
	       psn_diff(it->p->psn, r->req.first) >= 0;
}

/*
 * A response that came before. Where all requests are acknowledged, the requester lacks it, and the
 * receiver still responds.
 */
static void repeated(struct rd_analysis *a, struct flow *f, struct flow *r, const struct item *it)
{
	if (flow_is_duplicate(f, it, true) || is_unrequested(r, it)) {
		flow_incident(a, f, RD_INC_RESPONSE_DUPLICATED, 1);
		return;
	}
	flow_incident(a, f, RD_INC_RESPONSE_REPEATED, 1);
	if (r && r->ack.acked && r->ack.una == r->req.next)
		responded(a, r);
}

/* Whether the request for this PSN was not retransmitted: its response is the first. */
static bool is_first(const struct flow *r, uint32_t psn)
{
	return !r || !r->round.frame || psn_diff(psn, r->round.top) >= 0;
}

/* A response with an old PSN; true: it was missing. */
static bool response_old(
	struct rd_analysis *a, struct flow *f, struct flow *r, const struct item *it)
{
	if (f->resp.missing && seq_fill(f->resp.missing, it->p->psn, 1)) {
		if (is_first(r, it->p->psn))
			flow_incident(a, f, RD_INC_RESPONSE_REORDERED, 1);
		return true;
	}
	if (r && r->ack.gap_open && it->p->psn == r->ack.gap_psn && is_first(r, it->p->psn) &&
		!flow_is_duplicate(f, it, true)) {
		flow_incident(a, f, RD_INC_RESPONSE_REORDERED, 1);
		return true;
	}
	repeated(a, f, r, it);
	return false;
}

/* READs before this PSN that wait for their responses, of which none was captured. */
static void reads_missing(struct rd_analysis *a, struct flow *f, const struct flow *r, uint32_t psn)
{
	for (unsigned int i = 0; i < r->ack.waiting_n; i++) {
		const struct waiting *w = waiting_at(r, i);
		struct seq *missing;

		if (psn_diff(psn_add(w->psn, w->span), psn) > 0)
			return;
		if (w->verb != RD_VERB_READ || psn_diff(w->psn, f->resp.next) < 0)
			continue;
		missing = flow_missing(a, f);
		if (missing)
			seq_add_hole(missing, w->psn, w->span);
	}
}

/* The READ that waits for this response; NULL: none of them does. */
static const struct waiting *read_of(const struct flow *r, uint32_t psn)
{
	for (unsigned int i = 0; r && i < r->ack.waiting_n; i++) {
		const struct waiting *w = waiting_at(r, i);

		if (w->verb == RD_VERB_READ && psn_diff(psn, w->psn) >= 0 &&
			psn_diff(psn, psn_add(w->psn, w->span)) < 0)
			return w;
	}
	return NULL;
}

/*
 * How many responses are missing just before this one, d PSNs after the last response. Requests of
 * other kinds may be between two READs: they have no such responses.
 */
static uint32_t response_missing(
	const struct flow *f, const struct flow *r, const struct rd_packet *p, int32_t d)
{
	const struct waiting *w;

	if (!d)
		return 0;
	if (f->resp.open)
		return (uint32_t)d;
	if (p->op->bits & RD_OP_FIRST)
		return 0;
	w = read_of(r, p->psn);
	if (w && psn_diff(p->psn, w->psn) < d)
		return (uint32_t)psn_diff(p->psn, w->psn);
	return d < 4096 ? (uint32_t)d : 1;
}

/*
 * The response with which those of a connection begin: the one captured first; or, if it is no
 * first one of its READ, that one, which its request shows.
 */
static uint32_t first_response(const struct flow *r, const struct rd_packet *p)
{
	const struct waiting *w;

	if (p->op->bits & RD_OP_FIRST || !r || !r->ack.waiting_n ||
		psn_diff(p->psn, r->req.next) >= 0)
		return p->psn;
	w = waiting_at(r, 0);
	if (w->verb != RD_VERB_READ || r->ack.waiting_n > 1 || psn_diff(p->psn, w->psn) < 0)
		return p->psn;
	return w->psn;
}

static bool read_sequence(
	struct rd_analysis *a, struct flow *f, struct flow *r, const struct item *it)
{
	const struct rd_packet *p = it->p;
	uint32_t missing;
	int32_t d;

	if (!f->resp.started) {
		f->resp.started = true;
		f->resp.next = first_response(r, p);
		f->resp.open = f->resp.next != p->psn;
	}
	d = psn_diff(p->psn, f->resp.next);
	if (d > FAR || d < -FAR) { /* the QP was reused */
		d = 0;
		f->resp.open = false;
		if (f->resp.missing)
			f->resp.missing->n_holes = 0;
	}
	if (d < 0)
		return response_old(a, f, r, it);
	missing = response_missing(f, r, p, d);
	if (missing)
		response_gap(a, f, r, p->psn, missing);
	else if (d && r)
		reads_missing(a, f, r, p->psn);
	f->resp.next = psn_add(p->psn, 1);
	f->resp.open = !(p->op->bits & RD_OP_LAST);
	return true;
}

/* A response to a READ that was not captured: one packet, though it has many PSNs. */
static void read_unseen(struct rd_analysis *a, struct flow *r, const struct rd_packet *p)
{
	bool first = p->op->bits & RD_OP_FIRST;

	if (r->trouble && r->trouble->seen.n_holes && seq_fill(&r->trouble->seen, p->psn, 1) &&
		first)
		flow_incident(a, r, RD_INC_UNSEEN, 1);
	if (!first && p->psn == r->req.next && r->req.next == r->req.at && !r->req.read_open)
		r->req.next = r->req.at = r->receiver.expected = psn_add(p->psn, 1);
}

static void read_response(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	const struct rd_packet *p = it->p;
	struct flow *r = f->pair.peer;

	f->resp.reads++;
	if (r && !(p->op->bits & RD_OP_LAST) && p->payload_len)
		request_learn_mtu(r, p->payload_len);
	if (r && r->req.read_open && p->psn == r->req.read_psn && p->op->bits & RD_OP_FIRST &&
		p->op->bits & RD_OP_LAST)
		request_read_is_single(r);
	messages_counted(a, r, p);
	if (r && r->req.started)
		read_unseen(a, r, p);
	if (read_sequence(a, f, r, it))
		goodput_add(a, &f->resp.goodput, p->payload_len);
	if (r && is_taken(a, r, p) && !acknowledge(a, r, psn_add(p->psn, 1), it->ns))
		f->pair.misses++;
}

static void atomic_response(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	struct flow *r = f->pair.peer;

	messages_counted(a, r, it->p);
	if (r && r->req.started && r->ack.acked && psn_diff(it->p->psn, r->ack.una) < 0) {
		repeated(a, f, r, it);
		return;
	}
	/* One after a missing response is not taken, and comes again. */
	if (r && !is_taken(a, r, it->p))
		return;
	goodput_add(a, &f->resp.goodput, 8);
	if (r && !acknowledge(a, r, psn_add(it->p->psn, 1), it->ns))
		f->pair.misses++;
}

/* --- ACKs ------------------------------------------------------------------------------------- */

/* Credits count receives: their lack means nothing to a requester that only WRITEs and READs. */
static inline void credits_advertised(struct rd_analysis *a, struct flow *f, unsigned int value)
{
	const struct flow *r = f->pair.peer;

	f->resp.credits = rd_aeth_credits(value);
	if (!f->resp.credits && r && r->req.receives)
		flow_incident(a, f, RD_INC_ZERO_CREDIT, 1);
}

/*
 * The copy of a NAK that has no IP identification: an RNR NAK, for which the sender has to wait,
 * before its round begins; and a QP that sent a NAK which ends it sends nothing more.
 */
static bool nak_is_copy(const struct flow *f, const struct flow *r, const struct item *it,
	const struct rd_aeth *aeth)
{
	const struct rd_incident *rnr;

	if (aeth->kind == RD_AETH_ACK || HAS_IP_ID(it->ip_id) || !r)
		return false;
	if (aeth->kind != RD_AETH_RNR)
		return r->ack.ended && it->ns - r->ack.end_ns < RECONNECT_NS;
	rnr = incident_of(&f->incidents, RD_INC_RNR);
	return rnr && r->ack.rnr_frame && r->ack.rnr_psn == it->p->psn &&
	       it->ns - rnr->last_ns < UINT64_C(1000) * rd_aeth_rnr_us(aeth->value);
}

static void acknowledge_packet(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	const struct rd_packet *p = it->p;
	struct flow *r;
	struct rd_aeth aeth;

	if (!rd_packet_aeth(p, &aeth))
		return;
	if (!f->pair.peer && aeth.kind != RD_AETH_ACK)
		pair_nak(a, f, p->psn);
	r = f->pair.peer;
	if (flow_is_duplicate(f, it, true) || nak_is_copy(f, r, it, &aeth)) {
		flow_incident(a, f, RD_INC_RESPONSE_DUPLICATED, 1);
		return;
	}
	if (r && r->req.started)
		messages_completed(a, r, p->psn, aeth.msn, true);
	switch (aeth.kind) {
	case RD_AETH_ACK:
		f->resp.acks++;
		credits_advertised(a, f, aeth.value);
		if (r && !acknowledge(a, r, psn_add(p->psn, 1), it->ns))
			f->pair.misses++;
		break;
	case RD_AETH_RNR:
		a->point->nak++;
		nak_not_ready(a, f, r, p, aeth.value);
		break;
	case RD_AETH_NAK:
		nak_take(a, f, r, p, aeth.value);
		break;
	default:
		flow_incident(a, f, RD_INC_NAK_OTHER, 1);
	}
}

/* Searches for the requester; remembers up to where responses came before it was known. */
static void search_requester(struct rd_analysis *a, struct flow *f, uint32_t psn)
{
	uint32_t until = psn_add(psn, 1);

	pair_response(a, f, psn);
	if (f->pair.peer || (f->resp.early && psn_diff(until, f->resp.until) <= 0))
		return;
	f->resp.early = true;
	f->resp.until = until;
}

void response_rc(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	unsigned int bits = it->p->op->bits;

	if (!f->resp.any)
		flow_transport(f, it->p);
	f->resp.any = true;
	if (!f->pair.peer)
		search_requester(a, f, it->p->psn);
	if (bits & RD_OP_READ)
		read_response(a, f, it);
	else if (bits & RD_OP_ATOMIC)
		atomic_response(a, f, it);
	else
		acknowledge_packet(a, f, it);
	if (a->psn_plots && f->pair.peer)
		psn_plots_response(a, f->pair.peer, it);
	if (f->pair.misses > MISSES_MAX && f->pair.peer && f->pair.how == RD_PAIR_PSN) {
		f->pair.peer->pair.peer = NULL;
		f->pair.peer = NULL;
		f->pair.misses = 0;
	}
	flow_remember(a, f, it, true);
}

void response_cnp(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	a->totals.cnp_frames++;
	if (flow_is_same_cnp(f, it)) {
		flow_incident(a, f, RD_INC_RESPONSE_DUPLICATED, 1);
		return;
	}
	flow_incident(a, f, RD_INC_CNP, 1);
	a->point->cnp++;
	priority_take(a, f, it->p);
	if (f->pair.peer)
		congestion_notified(a, f->pair.peer);
}
