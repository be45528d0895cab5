/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests, packet by packet: what is new, what was retransmitted and why, how a receiver responds.
 * IBTA volume 1: 9.7.2 (PSNs), 9.7.3 (requests), 9.7.5.1 (responder).
 */
#include "request.h"
#include "message.h"
#include "round.h"

#define FAR_IDLE     1024 /* packets: further than a window where all before is acknowledged */
#define BEFORE_FIRST 512  /* packets that may come late before the first one seen */
/* Idle time after which a packet is a retransmission, not a late packet. */
#define LATE_NS UINT64_C(4000000)

/* --- the model of a receiver ------------------------------------------------------------------ */

static inline void receiver_takes(
	struct rd_analysis *a, struct flow *f, uint32_t psn, uint32_t span)
{
	if (psn != f->receiver.expected) {
		receiver_refuses(a, f, psn);
		return;
	}
	f->receiver.expected = psn_add(psn, span);
	f->receiver.refusing = false;
}

/* --- packets that are not the next of the sequence -------------------------------------------- */

/* The first copies of these packets that were captured are retransmissions. */
static void lost_upstream(struct rd_analysis *a, struct flow *f, uint32_t psn, uint32_t n)
{
	uint32_t before = before_capture(f, psn, n);
	struct trouble *t = n ? f->trouble : NULL;

	flow_incident(a, f, RD_INC_FROM_BEFORE, before);
	flow_incident(a, f, RD_INC_LOST_UPSTREAM, n - before);
	if (!t)
		return;
	if (psn != psn_add(t->filled, t->filled_n)) {
		t->filled = psn;
		t->filled_n = 0;
	}
	t->filled_n += n;
}

static void late_add(struct rd_analysis *a, struct flow *f, enum rd_incident_kind kind, uint32_t n)
{
	struct rd_incident *e = n ? flow_incident_of(a, f, kind) : NULL;

	if (e)
		incident_add(e, n, f->req.late_frame, f->req.late_ns);
}

void request_settle(struct rd_analysis *a, struct flow *f)
{
	uint32_t before = before_capture(f, f->req.late_psn, f->req.late_n);

	late_add(a, f, RD_INC_FROM_BEFORE, before);
	late_add(a, f, RD_INC_REORDERED, f->req.late_n - before);
	if (f->req.late_n > before && f->trouble && f->trouble->late_depth > f->trouble->depth)
		f->trouble->depth = f->trouble->late_depth;
	f->req.late_n = 0;
	f->req.slow = f->round.active;
}

/* Whether the first copy of a packet that was captured is a retransmission. */
static bool is_sent_again(const struct rd_analysis *a, const struct flow *f, const struct item *it)
{
	enum sent sent = flow_sent(f, it);

	if (sent != SENT_UNKNOWN)
		return sent == SENT_AFTER;
	return (f->ack.nak_frame && f->ack.nak_psn == it->p->psn) ||
	       (f->ack.open_since_ns && a->ns - f->req.progress_ns > LATE_NS &&
		       a->ns > f->req.progress_ns);
}

/* After such a silence a packet may be a retransmission, though few timers are so short. */
static bool is_slow(const struct rd_analysis *a, const struct flow *f)
{
	return a->ns > f->req.progress_ns + UNDER_WAY_NS;
}

/* A packet of a hole came late: the packets after it decide whether a round begins here. */
static void late_take(struct rd_analysis *a, struct flow *f, struct trouble *t, uint32_t psn,
	uint32_t missing, bool follows)
{
	uint32_t depth = (uint32_t)psn_diff(f->req.next, psn_add(psn, missing));

	if (!follows) {
		request_settle(a, f);
		f->req.late_psn = psn;
		f->req.late_frame = a->frame;
		f->req.late_ns = a->ns;
		t->late_depth = 0;
	}
	mark_frame(a, f, RD_INC_REORDERED, true);
	if (depth > t->late_depth && !is_slow(a, f))
		t->late_depth = depth;
	f->req.late_n++;
	f->req.late_end = psn_add(psn, missing);
	f->req.slow = true;
}

/*
 * Whether a packet that was captured before continues a round that began with the late ones: it is
 * the next one; or a round is expected to begin with them, and those between were lost again.
 */
static bool late_began(const struct flow *f, uint32_t psn)
{
	int32_t ahead = psn_diff(psn, f->req.late_end);

	if (!f->req.late_n || ahead < 0)
		return false;
	return !ahead || f->req.late_psn == round_origin(f);
}

/* An old packet outside of a round: it begins one, or is late. */
static void old_take(struct rd_analysis *a, struct flow *f, struct trouble *t,
	const struct item *it, uint32_t span, uint32_t missing)
{
	uint32_t psn = it->p->psn, start = psn, lost;
	bool follows = f->req.late_n && psn == f->req.late_end;

	if (missing && is_sent_again(a, f, it)) {
		request_settle(a, f);
		t->unclear.late |= f->ack.nak_frame && flow_sent(f, it) == SENT_UNKNOWN;
		t->doubtful = f->ack.nak_frame && flow_sent(f, it) == SENT_UNKNOWN &&
			      !before_capture(f, psn, 1);
		round_begin(a, f, t, psn, psn, span);
		lost_upstream(a, f, psn, 1);
	} else if (missing) {
		t->unclear.late |=
			(f->ack.nak_frame || is_slow(a, f)) && flow_sent(f, it) == SENT_UNKNOWN;
		late_take(a, f, t, psn, missing, follows);
		return;
	} else if (late_began(f, psn)) {
		lost = (uint32_t)psn_diff(psn, f->req.late_end);
		mark_late_again(a, f);
		lost_upstream(a, f, f->req.late_psn, f->req.late_n);
		flow_incident(a, f, RD_INC_RETRANSMITTED, f->req.late_n);
		round_begin(a, f, t, f->req.late_psn, f->req.late_psn,
			(uint32_t)psn_diff(psn, f->req.late_psn) + span);
		seq_add_hole(&t->pass, f->req.late_end, lost);
		f->req.late_n = 0;
	} else {
		bool late = f->req.late_n;

		request_settle(a, f);
		if (round_goes_back(f, it, span, &start)) {
			/* It may belong to the round, unless identifications count. */
			t->unclear.late |= late && flow_sent(f, it) == SENT_UNKNOWN;
			round_begin(a, f, t, start, psn, span);
		}
	}
	t->repeats = true;
	flow_incident(a, f, RD_INC_RETRANSMITTED, 1);
	delayed_packet(a, f, t, it, span);
}

/*
 * A NAK was followed by the packet that it requests, but by no other of the round, and now by this
 * packet again: the first copy was late, and the round begins here. A short timer that repeats a
 * retransmission looks the same.
 */
static void round_begins_later(struct rd_analysis *a, struct flow *f, uint32_t psn)
{
	flow_take_back(f, RD_INC_ROUND_NAK);
	flow_take_back(f, RD_INC_LOST_UPSTREAM);
	flow_take_back(f, RD_INC_RETRANSMITTED);
	delayed_take_back(f, f->trouble, psn_add(psn, 1));
	if (!f->round.active)
		flow_take_back(f, RD_INC_SELECTIVE);
	flow_incident(a, f, RD_INC_REORDERED, 1);
	mark_first_was_late(a, f);
	f->trouble->unclear.late = true;
	f->trouble->doubtful = f->round.active = false;
	f->ack.nak_frame = a->frame;
	f->ack.nak_ns = a->ns;
	f->ack.nak_psn = psn;
	f->trouble->leftover = false;
}

/*
 * The copy of a frame that has no IP identification: captured twice within microseconds, without a
 * NAK or a missing response for which the sender goes back to this packet.
 */
static bool is_copy(const struct flow *f, const struct trouble *t, const struct item *it)
{
	uint32_t psn = it->p->psn;
	bool reason = f->ack.rnr_frame || f->ack.nak_frame || f->ack.gap_open;

	if (!flow_is_recent(f, it) || (reason && psn == round_origin(f)))
		return false;
	return !f->round.active || (psn_diff(psn, f->req.at) < 0 && !seq_is_hole(&t->pass, psn) &&
					   psn_diff(psn, t->pass.start) >= 0);
}

bool request_restarts(const struct flow *f, const struct rd_packet *p, int32_t d)
{
	bool idle = f->ack.acked && f->ack.una == f->req.next && p->op->bits & RD_OP_FIRST;
	int32_t far = d < 0 ? -d : d;

	return far > FAR || (idle && far > FAR_IDLE);
}

/* This packet was reordered after the first captured one; impossible after the first ACK. */
static uint32_t before_first(
	struct rd_analysis *a, struct flow *f, struct trouble *t, uint32_t psn, uint32_t span)
{
	int32_t front = psn_diff(t->seen.start, psn);

	if (front < (int32_t)span || front + f->req.before > BEFORE_FIRST || f->req.start_known)
		return 0;
	f->req.before = (uint16_t)(f->req.before + front);
	seq_add_hole(&t->seen, psn_add(psn, span), (uint32_t)front - span);
	t->seen.start = f->req.first = f->receiver.expected = f->ack.una = psn;
	if (!f->receiver.refusing)
		flow_incident(a, f, RD_INC_AT_RECEIVER_SEQUENCE, 1);
	f->receiver.refusing = f->receiver.naked = true;
	f->receiver.nak_seen = false;
	f->receiver.nak = psn;
	return span;
}

/* The next response shows whether the same connection goes on after a gap. */
static void doubt_gap(const struct flow *f, struct trouble *t, uint32_t psn)
{
	t->gap_open = true;
	t->gap_next = psn;
	t->gap_msn = f->ack.msn;
	t->gap_messages = messages_of(f);
}

static void new_take(struct rd_analysis *a, struct flow *f, struct trouble *t, uint32_t psn,
	uint32_t span, bool begins)
{
	int32_t d = psn_diff(psn, f->req.next);

	request_settle(a, f);
	round_end(a, f, t);
	f->req.slow = false;
	if (d > 0) {
		flow_incident(a, f, RD_INC_GAP, 1);
		seq_add_hole(&t->seen, f->req.next, (uint32_t)d);
		f->req.message_bytes = MESSAGE_UNSIZED;
		if (begins)
			doubt_gap(f, t, psn);
	}
	f->req.next = f->req.at = psn_add(psn, span);
}

/*
 * A packet with an earlier time than a newer one or its ACK: the capture put frames in this order,
 * so it shows neither reordering nor a retransmission.
 */
static bool disordered(struct flow *f, uint32_t missing)
{
	if (!missing && !f->round.active) /* its ACK was first */
		flow_take_back(f, RD_INC_UNSEEN);
	return missing > 0;
}

/*
 * A packet that is captured just after its ACK, and was not before: the capture has both in another
 * order. A retransmission does not follow an ACK so soon.
 */
static bool is_behind_ack(
	const struct rd_analysis *a, struct flow *f, struct trouble *t, uint32_t psn, uint32_t span)
{
	uint32_t n = seq_fill(&t->unseen, psn, span);

	t->unclear.behind_ack |= n;
	if (!n || a->ns - f->req.progress_ns > UNDER_WAY_NS)
		return false;
	for (uint32_t i = 0; i < n; i++)
		flow_take_back(f, RD_INC_UNSEEN);
	return true;
}

/* The packet that the last NAK denied is captured again. */
static void denied_repeated(const struct rd_analysis *a, struct trouble *t)
{
	t->denied_again = true;
	t->denied_fetch = t->fetches;
	if (!t->again_ns)
		t->again_ns = a->ns;
}

/* A packet before the highest one; true: it was not captured before. */
static bool sequence_old(struct rd_analysis *a, struct flow *f, struct trouble *t,
	const struct item *it, uint32_t span)
{
	uint32_t psn = it->p->psn, missing = seq_fill(&t->seen, psn, span);

	if (it->ns < f->req.progress_ns)
		return disordered(f, missing);
	if (!missing && is_behind_ack(a, f, t, psn, span)) {
		a->totals.behind_ack++;
		return true;
	}

	if (!missing && !f->ack.acked && psn_diff(psn, t->seen.start) < 0)
		missing = before_first(a, f, t, psn, span);
	if (!missing && (flow_is_duplicate(f, it, false) || is_copy(f, t, it))) {
		t->unclear.copies_timed |= !HAS_IP_ID(it->ip_id);
		flow_incident(a, f, RD_INC_DUPLICATED, 1);
		return false;
	}
	if (t->denied_open && psn == t->denied)
		denied_repeated(a, t);
	if (it->p->op->bits & RD_OP_READ && read_is_rest(f, psn, span))
		acknowledge_rest(a, f, psn, it->ns);
	if (t->fetches && psn == f->ack.una) {
		t->fetch = psn;
		t->fetch_n = span;
	}
	if ((!missing || f->round.active) && flow_sent(f, it) == SENT_BEFORE) {
		if (!missing) { /* its own retransmission was here first, or it is a copy */
			t->unclear.late |= !flow_id_of(f, psn);
			flow_take_back(f, RD_INC_LOST_UPSTREAM);
		}
		flow_incident(a, f, RD_INC_REORDERED, 1);
		return missing > 0;
	}
	if (!f->round.active) {
		old_take(a, f, t, it, span, missing);
		return missing > 0;
	}
	round_take(a, f, t, it, span);
	t->repeats = true;
	flow_incident(a, f, RD_INC_RETRANSMITTED, 1);
	delayed_packet(a, f, t, it, span);
	lost_upstream(a, f, psn, missing > 0);
	return missing > 0;
}

/* Every packet that is not the next one of the sequence; true: it is new data. */
static bool sequence_odd(
	struct rd_analysis *a, struct flow *f, const struct item *it, uint32_t span)
{
	struct trouble *t = flow_trouble(a, f);
	uint32_t psn = it->p->psn;
	int32_t d = psn_diff(psn, f->req.next);

	if (!t)
		return false;
	t->repeats = false;
	t->fetches = it->p->op->bits & (RD_OP_READ | RD_OP_ATOMIC);
	if (it->p->kind == RD_KIND_ROCE2 && rd_be16(it->p->data + it->p->l4) != f->id.sport)
		t->unclear.ports_differ = true;
	/* The PSN that the CM agreed on is of another connection: the first packet is far away. */
	if (f->req.start_known && f->req.packets == 1 && (d < 0 || d > FAR_IDLE)) {
		flow_expect(f, psn);
	} else if (request_restarts(f, it->p, d)) {
		flow_incident(a, f, RD_INC_RESTART, 1);
		t->any_delayed = t->rest_delayed = false;
		flow_expect(f, psn);
		responses_restart(f);
		app_restart(f);
	}
	if (psn_diff(psn, f->req.next) >= 0) {
		new_take(a, f, t, psn, span, it->p->op->bits & RD_OP_FIRST);
		return true;
	}
	/* After a silence a timer repeats the packet, whose retransmission was lost. */
	if (t->doubtful && a->ns - t->round_ns > UNDER_WAY_NS)
		t->doubtful = false;
	if (t->doubtful && psn == f->round.psn && !flow_is_duplicate(f, it, false) &&
		!flow_is_recent(f, it))
		round_begins_later(a, f, psn);
	else if (f->round.active && psn != f->round.psn)
		t->doubtful = false;
	return sequence_old(a, f, t, it, span);
}

/* --- open requests ---------------------------------------------------------------------------- */

/* Whether a response to this packet was captured before: the packet was sent before, too. */
static bool was_answered(struct flow *f, uint32_t psn)
{
	int32_t left = f->pair.peer ? psn_diff(f->pair.peer->resp.until, psn) : 0;

	f->ack.answered = left > 0 && left <= FAR;
	return f->ack.answered;
}

static inline void wait_for_response(
	struct rd_analysis *a, struct flow *f, const struct item *it, uint32_t span)
{
	if (!f->ack.open_since_ns)
		f->ack.open_since_ns = f->ack.quiet_ns = it->ns;
	if (f->ack.waiting_n == WAITING || f->round.active ||
		(f->ack.answered && was_answered(f, it->p->psn)))
		return;
	if (f->ack.waiting_n == f->ack.waiting_capacity && !flow_waiting_grow(a, f))
		return;
	*waiting_at(f, f->ack.waiting_n++) = (struct waiting){.first_ns = f->req.message_ns,
		.last_ns = it->ns,
		.psn = it->p->psn,
		.span = span & 0xffffff,
		.verb = (uint8_t)verb_of(it->p->op)};
}

void request_rc(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	const struct rd_packet *p = it->p;
	bool read_open = f->req.read_open, fresh = true, behind = false;
	uint32_t psn = p->psn, span;

	f->req.packets++;
	if (!f->req.started)
		flow_expect(f, psn);
	if (!f->req.any)
		flow_transport(f, p);
	f->req.any = true;
	f->req.receives = f->req.receives || opcode_needs_receive(p->op);
	if (read_open && psn != f->req.read_psn)
		read_followed(f, p);
	span = p->op->bits & RD_OP_READ ? read_span(f, p) : 1;
	if (!(p->op->bits & RD_OP_READ))
		f->req.read_open = false;
	if (psn == f->req.next && psn == f->req.at && !f->req.slow) {
		f->req.next = f->req.at = psn_add(psn, span);
	} else {
		fresh = sequence_odd(a, f, it, span);
		behind = psn_add(psn, span) != f->req.next;
	}
	receiver_takes(a, f, psn, span);
	if (fresh) {
		message_take(a, f, it, behind, false);
		if (!f->ack.refused)
			goodput_add(a, &f->req.goodput, p->payload_len);
		if (f->ack.acked && psn == f->ack.una &&
			!(f->trouble && f->trouble->round_ns > f->req.progress_ns))
			shortest(&f->ack.next_ns, f->req.progress_ns, it->ns);
		f->req.progress_ns = RD_MAX(f->req.progress_ns, it->ns);
	} else {
		a->point->retransmitted++;
		if (p->op->bits & RD_OP_FIRST)
			refused_remember(a, f, it, verb_of(p->op));
	}
	if (f->trouble && p->op->bits & RD_OP_READ) {
		f->trouble->read = psn;
		f->trouble->read_n = span;
	}
	if (p->bth_bits & RD_BTH_ACKREQ || p->op->bits & (RD_OP_READ | RD_OP_ATOMIC)) {
		if (fresh)
			wait_for_response(a, f, it, span);
		if (!f->pair.peer)
			pair_request(a, f, psn);
	}
	if (a->psn_plots)
		psn_plots_request(a, f, it, span);
	flow_remember(a, f, it, false);
}
