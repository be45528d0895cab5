/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Responses, packet by packet: ACKs, NAKs, READ and atomic responses, and what they show about the
 * requests. IBTA volume 1: 9.7.5.1 (responses), 9.7.5.2 (syndromes).
 */
#include "refused.h"

#define FAR	   (1 << 20)
#define READS_OPEN 128		     /* READs that may be open at once */
#define GAP_NS	   UINT64_C(4000000) /* a requester goes back sooner for a missing response */
#define SAMPLES	   4		     /* responses, before the shortest of them is worth anything */
#define MISSES_MAX 8 /* responses that do not fit, before two flows are no longer a pair */

/* --- the effect on requests ------------------------------------------------------------------- */

static void latency(struct rd_analysis *a, struct flow *r, enum rd_latency_kind kind, uint64_t ns)
{
	if (!hist_add(&r->ack.latencies[kind], ns))
		a->out_of_memory = true;
}

static void sample(struct rd_analysis *a, struct flow *r, const struct waiting *w, uint64_t ns)
{
	struct rd_point *point = grid_point(&a->grid, r->traffic.row, ns);
	uint64_t took = ns - w->last_ns;

	if (ns < w->last_ns)
		return;
	if (w->verb == RD_VERB_READ) {
		latency(a, r, RD_LATENCY_READ, took);
	} else if (w->verb == RD_VERB_ATOMIC) {
		latency(a, r, RD_LATENCY_ATOMIC, took);
	} else {
		latency(a, r, RD_LATENCY_ACK, took);
		latency(a, r, RD_LATENCY_MESSAGE, ns - w->first_ns);
	}
	point->latency_n++;
	point->latency_sum_ns += took;
	if (took > point->latency_max_ns)
		point->latency_max_ns = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
}

/*
 * Ends the wait of requests before `upto`; the last one of them is a latency sample. Returns false
 * where a READ or an atomic is among them whose last response was not captured: *missing.
 */
static inline bool waiting_done(
	struct rd_analysis *a, struct flow *r, uint32_t upto, uint64_t ns, uint32_t *missing)
{
	while (r->ack.waiting_n) {
		const struct waiting *w = &r->ack.waiting[r->ack.waiting_at];
		int32_t d = psn_diff(upto, psn_add(w->psn, w->span));

		if (d < 0)
			return true;
		if (d == 0) {
			sample(a, r, w, ns);
		} else if (w->verb == RD_VERB_READ || w->verb == RD_VERB_ATOMIC) {
			*missing = w->psn;
			return false;
		}
		r->ack.waiting_at =
			(uint8_t)((r->ack.waiting_at + 1U) & (r->ack.waiting_room - 1U));
		r->ack.waiting_n--;
	}
	return true;
}

/* A READ or atomic response is missing: the requester takes none after it. */
static void gap_begin(struct rd_analysis *a, struct flow *r, uint32_t psn)
{
	if (r->ack.gap_open)
		return;
	if (r->pair.peer)
		flow_incident(a, r->pair.peer, RD_INC_RESPONSE_GAP, 1);
	r->ack.gap_open = true;
	r->ack.gap_psn = psn;
	r->ack.gap_responses = 0;
	r->ack.gap_ns = a->ns;
}

/*
 * A response after a missing one. If the requester does not go back, then it got that one, and the
 * capture missed it.
 */
static void gap_passed(struct rd_analysis *a, struct flow *r)
{
	if (r->round.active)
		return;
	if (++r->ack.gap_responses <= READS_OPEN && a->ns - r->ack.gap_ns < GAP_NS)
		return;
	flow_incident(a, r, RD_INC_RESPONSE_UNSEEN, 1);
	r->ack.gap_open = false;
	r->ack.waiting_n = 0;
}

static void unseen(struct rd_analysis *a, struct flow *r, uint32_t upto, uint32_t ahead)
{
	if (!r->req.read_open)
		flow_incident(a, r, RD_INC_UNSEEN, ahead);
	/* A READ of unknown length has at least these responses. */
	if (r->req.read_open && r->req.read_length == READ_UNKNOWN)
		r->req.read_psn = psn_add(upto, 0xffffff);
	else
		r->req.read_open = false;
	r->req.next = r->req.at = r->receiver.expected = upto;
	r->req.slow = r->round.active = false;
	r->req.late_n = 0;
}

static void stalled(struct rd_analysis *a, struct flow *r, uint64_t ns)
{
	if (ns > r->ack.open_since_ns && ns - r->ack.open_since_ns > r->ack.stall_ns) {
		r->ack.stall_ns = ns - r->ack.open_since_ns;
		r->ack.stall_frame = a->frame;
	}
}

/* A response of any kind: the receiver is there. */
static inline void responded(const struct rd_analysis *a, struct flow *r)
{
	r->round.attempts = 0;
	if (!r->ack.end_nak)
		r->ack.end_frame = a->frame;
}

/* Whether a response that comes so long after a request cannot be the response to it. */
static bool is_too_soon(const struct flow *r, uint64_t ns)
{
	const struct hist *h = r->ack.latencies[RD_LATENCY_ACK];

	if (!h)
		h = r->ack.latencies[RD_LATENCY_READ];
	if (!h)
		h = r->ack.latencies[RD_LATENCY_ATOMIC];
	return h && h->n >= SAMPLES && ns * 4 < h->min * 3;
}

/*
 * A round without a NAK, whose response comes sooner than any response to a request: it was on its
 * way when the round began, and nothing had been lost.
 */
static void round_was_early(struct rd_analysis *a, struct flow *r, uint64_t ns)
{
	r->round.silent = false;
	if (r->ack.open_since_ns && ns >= r->ack.open_since_ns &&
		is_too_soon(r, ns - r->ack.open_since_ns))
		flow_incident(a, r, RD_INC_CROSSED, 1);
}

/*
 * The receiver has the packet that its last NAK denied. If it has it before the retransmission can
 * have reached it, then the first copy was late there, not lost.
 */
static void denied_arrived(struct rd_analysis *a, struct flow *r, uint64_t ns)
{
	struct trouble *t = r->trouble;

	t->denied_open = false;
	if (t->again_ns && (ns < t->again_ns || !is_too_soon(r, ns - t->again_ns)))
		return;
	t->denied_late = true;
	flow_take_back(r, RD_INC_LOST_DOWNSTREAM);
	flow_incident(a, r, RD_INC_REORDERED_DOWNSTREAM, 1);
}

/* Whether a READ or atomic, once retransmitted, is acknowledged without its next response. */
static bool fetch_is_missing(const struct flow *r, uint32_t upto)
{
	const struct trouble *t = r->trouble;

	return t && ((r->ack.una - t->fetch) & 0xffffff) < t->fetch_n &&
	       psn_diff(upto, r->ack.una) > 1;
}

/* All requests before `upto` are acknowledged. False: impossible for this flow. */
static inline bool acknowledge(struct rd_analysis *a, struct flow *r, uint32_t upto, uint64_t ns)
{
	bool known =
		r->ack.acked; /* else responses before this one may have been captured unpaired */
	uint32_t missing = r->ack.una;
	int32_t ahead, before;

	if (!r->req.started)
		return true;
	if (r->ack.gap_open && psn_diff(upto, r->ack.gap_psn) > 0) {
		gap_passed(a, r);
		if (r->ack.gap_open)
			return true;
	}
	ahead = psn_diff(upto, r->req.next);
	if (ahead > FAR || ahead < -FAR)
		return false;
	before = psn_diff(upto, r->ack.una);
	if (before < 0) /* repeated, or for requests from before the capture */
		return true;
	r->ack.acked = true;
	if (before == 0)
		return true;
	if (r->trouble && r->trouble->denied_open && psn_diff(upto, r->trouble->denied) > 0)
		denied_arrived(a, r, ns);
	if (ahead > 0)
		unseen(a, r, upto, (uint32_t)ahead);
	else if (r->trouble && r->trouble->seen.n_holes)
		flow_incident(a, r, RD_INC_UNSEEN, seq_close(&r->trouble->seen, upto));
	if (psn_diff(upto, r->receiver.expected) >
		0) { /* the receiver got what the capture missed */
		r->receiver.expected = upto;
		r->receiver.refusing = false;
	}
	if (r->round.silent)
		round_was_early(a, r, ns);
	if ((!waiting_done(a, r, upto, ns, &missing) || fetch_is_missing(r, upto)) && known) {
		if (psn_diff(missing, r->ack.una) < 0) /* the READ has some of its responses */
			missing = r->ack.una;
		gap_begin(a, r, missing);
		r->ack.waiting_n = 0;
		upto = missing;
	}
	r->ack.una = upto;
	if (ns > r->req.progress_ns)
		r->req.progress_ns = ns;
	responded(a, r);
	if (r->ack.open_since_ns) {
		r->ack.waited_ns = ns - r->ack.open_since_ns;
		stalled(a, r, ns);
		r->ack.open_since_ns = upto == r->req.next ? 0 : ns;
	}
	return true;
}

/* The receiver requests psn again, or could not accept it. */
static void receiver_at(struct rd_analysis *a, struct flow *r, uint32_t psn, bool refused)
{
	uint32_t beyond = (uint32_t)psn_diff(r->receiver.expected, psn);

	if (psn_diff(r->receiver.expected, psn) <= 0)
		return;
	/* Packets after the refused one are out of sequence. */
	if (beyond > (refused ? 1U : 0U)) {
		flow_incident(a, r, RD_INC_AT_RECEIVER_SEQUENCE, 1);
		r->receiver.refusing = true;
	} else {
		r->receiver.refusing = false;
	}
	r->receiver.expected = psn;
}

/* A NAK for a PSN before the first one seen: that one was reordered. */
static void nak_before_first(struct rd_analysis *a, struct flow *r, uint32_t psn)
{
	if (!r->receiver.refusing)
		flow_incident(a, r, RD_INC_AT_RECEIVER_SEQUENCE, 1);
	r->receiver.refusing = true;
	r->receiver.expected = psn;
}

/* Whether a receiver at the capture point sends this NAK; further packets may arrive before it. */
static bool nak_is_due(struct flow *r, uint32_t psn)
{
	if (r->receiver.previous_naked && r->receiver.previous_nak == psn) {
		r->receiver.previous_naked = false;
		return true;
	}
	if (!r->receiver.naked || r->receiver.nak != psn)
		return false;
	r->receiver.nak_seen = true;
	return true;
}

/* Whether the current or last round has this packet: a copy of it may be on its way. */
static bool is_in_round(const struct flow *r, uint32_t psn)
{
	return r->round.frame && psn_diff(psn, r->round.psn) >= 0 &&
	       psn_diff(psn, r->round.top) < 0 &&
	       (!r->round.active || psn_diff(psn, r->req.at) < 0);
}

/*
 * Whether the receiver got this packet and discarded it: it came there behind a NAK, whose packet
 * was late and then taken.
 */
static bool is_discarded(const struct flow *r, uint32_t psn)
{
	const struct trouble *t = r->trouble;

	return t && t->denied_late && psn == r->ack.una && psn_diff(psn, t->denied_next) < 0;
}

/* A captured packet that the receiver does not have: lost downstream, or late there. */
static void denied(struct rd_analysis *a, struct flow *r, uint32_t psn)
{
	struct trouble *t = flow_trouble(a, r);

	bool discarded = is_discarded(r, psn);

	receiver_at(a, r, psn, false);
	if (t)
		t->denied_late = false;
	if (discarded)
		return;
	flow_incident(a, r, RD_INC_LOST_DOWNSTREAM, 1);
	if (!t)
		return;
	t->denied = psn;
	t->denied_next = r->req.next;
	t->denied_open = true;
	t->again_ns = is_in_round(r, psn) ? t->round_ns : 0;
}

/* Remembers a NAK until its round begins. */
static void nak_pends(struct rd_analysis *a, struct flow *r, uint32_t psn)
{
	struct trouble *t = r->trouble;

	if (r->ack.nak_frame && psn_diff(psn, r->ack.nak_psn) > 0) {
		t = flow_trouble(a, r);
		if (t)
			t->two_naks = !t->leftover;
	}
	if (t)
		t->leftover = false;
	r->ack.nak_frame = a->frame;
	r->ack.nak_psn = psn;
}

static void nak_sequence(struct rd_analysis *a, struct flow *f, struct flow *r, uint32_t psn)
{
	bool explained, early;

	if (!r || !r->req.started || psn_diff(psn, r->req.next) > FAR)
		return;
	if (r->ack.acked && psn_diff(psn, r->ack.una) < 0)
		return; /* an ACK for this PSN came first: the receiver has it */
	responded(a, r);
	/* The same NAK again, before its round: a copy, or the capture missed the packet between.
	 */
	if (r->ack.nak_frame && r->ack.nak_psn == psn)
		return;
	early = !r->ack.acked && psn_diff(psn, r->req.first) < 0;
	if (psn_diff(psn, r->ack.una) > 0) {
		flow_incident(a, f, RD_INC_NAK_PROGRESS, 1);
		acknowledge(a, r, psn, a->ns);
	}
	nak_pends(a, r, psn);
	if (r->trouble && r->round.psn == psn)
		r->trouble->doubtful = false;
	/* The receiver at the capture point goes by the order of the file. */
	explained = early || (nak_is_due(r, psn) && !a->totals.backwards) ||
		    (r->ack.rnr_frame && r->ack.rnr_psn == psn);
	if (early)
		nak_before_first(a, r, psn);
	if (!explained && psn_diff(psn, r->req.next) < 0 &&
		!(r->trouble && seq_is_hole(&r->trouble->seen, psn)))
		denied(a, r, psn);
	/* A receiver sends one NAK; a second one for the same PSN means that it got the packet. */
	if (r->receiver.naked && r->receiver.nak == psn && psn_diff(r->receiver.expected, psn) > 0)
		r->receiver.naked = false;
}

static void rnr(struct rd_analysis *a, struct flow *f, struct flow *r, const struct rd_packet *p,
	unsigned int value)
{
	uint32_t us = rd_aeth_rnr_us(value);

	flow_incident(a, f, RD_INC_RNR, 1);
	if (us > f->resp.rnr_timer_us)
		f->resp.rnr_timer_us = us;
	if (!r || !r->req.started)
		return;
	acknowledge(a, r, p->psn, a->ns);
	responded(a, r);
	receiver_at(a, r, p->psn, true);
	r->ack.rnr_frame = a->frame;
	r->ack.rnr_psn = p->psn;
}

static void nak(struct rd_analysis *a, struct flow *f, struct flow *r, const struct rd_packet *p,
	unsigned int value)
{
	static const uint8_t kinds[] = {
		RD_INC_NAK_SEQUENCE, RD_INC_NAK_INVALID, RD_INC_NAK_ACCESS, RD_INC_NAK_OPERATIONAL};

	flow_incident(a, f, value < sizeof(kinds) ? kinds[value] : RD_INC_NAK_OTHER, 1);
	a->point->nak++;
	if (value == 0) {
		nak_sequence(a, f, r, p->psn);
	} else if (r && !r->ack.end_nak) {
		r->ack.end_nak = (uint8_t)(value + 1);
		r->ack.end_frame = a->frame;
		r->ack.end_ns = a->ns;
		r->ack.open_since_ns = 0;
		if (r->req.started && psn_diff(p->psn, r->req.next) < 0 &&
			(!r->ack.acked || psn_diff(p->psn, r->ack.una) >= 0))
			refused_take(a, r, p->psn);
	}
}

/* --- READ responses --------------------------------------------------------------------------- */

/* n responses before psn are missing. */
static void response_gap(
	struct rd_analysis *a, struct flow *f, struct flow *r, uint32_t psn, uint32_t n)
{
	struct seq *missing = flow_missing(a, f);

	if (!r || r->ack.gap_open)
		flow_incident(a, f, RD_INC_RESPONSE_GAP, 1);
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
	if (p->op->bits & RD_OP_LAST)
		gap_passed(a, r);
	return !r->ack.gap_open;
}

/* A response with an old PSN; true: it was missing. */
static bool response_old(
	struct rd_analysis *a, struct flow *f, struct flow *r, const struct item *it)
{
	if (f->resp.missing && seq_fill(f->resp.missing, it->p->psn, 1)) {
		/* Reordered, unless its request was retransmitted. */
		if (!r || !r->round.frame || psn_diff(it->p->psn, r->round.top) >= 0)
			flow_incident(a, f, RD_INC_RESPONSE_REORDERED, 1);
		return true;
	}
	if (flow_is_duplicate(f, it, true))
		flow_incident(a, f, RD_INC_RESPONSE_DUPLICATED, 1);
	else
		flow_incident(a, f, RD_INC_RESPONSE_REPEATED, 1);
	return false;
}

/* READs before this PSN that wait for their responses, of which none was captured. */
static void reads_missing(struct rd_analysis *a, struct flow *f, const struct flow *r, uint32_t psn)
{
	for (unsigned int i = 0; i < r->ack.waiting_n; i++) {
		const struct waiting *w =
			&r->ack.waiting[(r->ack.waiting_at + i) & (r->ack.waiting_room - 1U)];
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

/* How many responses are missing before this one. */
static uint32_t response_missing(const struct flow *f, const struct rd_packet *p, int32_t d)
{
	if (!d)
		return 0;
	if (f->resp.open)
		return (uint32_t)d;
	if (p->op->bits & RD_OP_FIRST) /* requests of other kinds may be between two READs */
		return 0;
	return d < 4096 ? (uint32_t)d : 1;
}

static bool read_sequence(
	struct rd_analysis *a, struct flow *f, struct flow *r, const struct item *it)
{
	const struct rd_packet *p = it->p;
	uint32_t missing;
	int32_t d;

	if (!f->resp.started) {
		f->resp.started = true;
		f->resp.next = p->psn;
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
	missing = response_missing(f, p, d);
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
	if (r && r->req.read_open && p->op->bits & RD_OP_FIRST && p->op->bits & RD_OP_LAST)
		request_read_is_single(r);
	if (r && r->req.started)
		read_unseen(a, r, p);
	if (read_sequence(a, f, r, it))
		f->resp.goodput += p->payload_len;
	if (r && is_taken(a, r, p) && !acknowledge(a, r, psn_add(p->psn, 1), it->ns))
		f->pair.misses++;
}

static void atomic_response(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	struct flow *r = f->pair.peer;

	if (r && r->req.started && r->ack.acked && psn_diff(it->p->psn, r->ack.una) < 0) {
		flow_incident(a, f,
			flow_is_duplicate(f, it, true) ? RD_INC_RESPONSE_DUPLICATED
						       : RD_INC_RESPONSE_REPEATED,
			1);
		return;
	}
	/* One after a missing response is not taken, and comes again. */
	if (!r || is_taken(a, r, it->p))
		f->resp.goodput += 8;
	else
		return;
	if (r && !acknowledge(a, r, psn_add(it->p->psn, 1), it->ns))
		f->pair.misses++;
}

/* --- ACKs and NAKs ---------------------------------------------------------------------------- */

static inline void credits_advertised(struct rd_analysis *a, struct flow *f, unsigned int value)
{
	f->resp.credits = rd_aeth_credits(value);
	if (!f->resp.credits)
		flow_incident(a, f, RD_INC_ZERO_CREDIT, 1);
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
	if (flow_is_duplicate(f, it, true)) {
		flow_incident(a, f, RD_INC_RESPONSE_DUPLICATED, 1);
		return;
	}
	switch (aeth.kind) {
	case RD_AETH_ACK:
		f->resp.acks++;
		credits_advertised(a, f, aeth.value);
		if (r && !acknowledge(a, r, psn_add(p->psn, 1), it->ns))
			f->pair.misses++;
		break;
	case RD_AETH_RNR:
		a->point->nak++;
		rnr(a, f, r, p, aeth.value);
		break;
	case RD_AETH_NAK:
		nak(a, f, r, p, aeth.value);
		break;
	default:
		flow_incident(a, f, RD_INC_NAK_OTHER, 1);
	}
}

void response_rc(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	unsigned int bits = it->p->op->bits;

	f->resp.any = true;
	if (!f->pair.peer)
		pair_response(a, f, it->p->psn);
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
