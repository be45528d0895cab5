/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NAKs and RNR NAKs: what the receiver requests again, or refuses. IBTA volume 1: 9.7.5.1.1 (PSN
 * sequence errors), 9.7.5.2 (syndromes).
 */
#include "refused.h"
#include "request.h"

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
 * Whether the receiver discarded this packet: it arrived after a NAK, and the packet that the NAK
 * requested was late and then accepted.
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
	t->denied_only = is_in_round(r, psn) && ((psn - t->filled) & 0xffffff) < t->filled_n;
	t->denied_again = t->denied_fetch = false;
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
	r->ack.nak_ns = a->ns;
	r->ack.nak_psn = psn;
}

/*
 * A receiver acknowledges a packet after it requested it, never before: this NAK was reordered,
 * unless it is a copy of the last one.
 */
static void nak_is_late(struct rd_analysis *a, struct flow *r, uint32_t psn)
{
	struct trouble *t;

	if (r->ack.nak_psn == psn || psn_diff(psn, r->req.first) < 0)
		return;
	t = flow_trouble(a, r);
	if (t)
		t->unclear.naks_late = true;
}

static void nak_sequence(struct rd_analysis *a, struct flow *f, struct flow *r, uint32_t psn)
{
	bool explained, early;

	if (!r || !r->req.started || psn_diff(psn, r->req.next) > FAR)
		return;
	if (r->ack.acked && psn_diff(psn, r->ack.una) < 0) {
		nak_is_late(a, r, psn);
		return;
	}
	responded(a, r);
	/* The same NAK before its round: a copy, or the capture missed the packet between. */
	if (r->ack.nak_frame && r->ack.nak_psn == psn)
		return;
	early = !r->ack.acked && psn_diff(psn, r->req.first) < 0;
	if (psn_diff(psn, r->ack.una) > 0) {
		flow_incident(a, f, RD_INC_NAK_PROGRESS, 1);
		if (r->trouble) /* a NAK is sent at once, not as ACKs are */
			r->trouble->denied_by_nak = true;
		acknowledge(a, r, psn, a->ns);
		if (r->trouble)
			r->trouble->denied_by_nak = false;
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

void nak_not_ready(struct rd_analysis *a, struct flow *f, struct flow *r, const struct rd_packet *p,
	unsigned int value)
{
	uint32_t us = rd_aeth_rnr_us(value);

	flow_incident(a, f, RD_INC_RNR, 1);
	if (us > f->resp.rnr_timer_us)
		f->resp.rnr_timer_us = us & 0xfffff;
	if (!r || !r->req.started)
		return;
	if (refused_needs_no_receive(a, r, p->psn))
		flow_incident(a, f, RD_INC_RNR_PAGES, 1);
	acknowledge(a, r, p->psn, a->ns);
	responded(a, r);
	receiver_at(a, r, p->psn, true);
	r->ack.quiet_ns = 0;
	r->ack.rnr_frame = a->frame;
	r->ack.rnr_psn = p->psn;
}

void nak_take(struct rd_analysis *a, struct flow *f, struct flow *r, const struct rd_packet *p,
	unsigned int value)
{
	static const uint8_t kinds[] = {
		RD_INC_NAK_SEQUENCE, RD_INC_NAK_INVALID, RD_INC_NAK_ACCESS, RD_INC_NAK_OPERATIONAL};

	flow_incident(a, f, value < sizeof(kinds) ? kinds[value] : RD_INC_NAK_OTHER, 1);
	a->point->nak++;
	if (value == 0) {
		nak_sequence(a, f, r, p->psn);
	} else if (r && !r->ack.ended) {
		r->ack.ended = r->ack.ever_ended = true;
		r->ack.end_frame = a->frame;
		r->ack.end_ns = a->ns;
		r->ack.open_since_ns = 0;
		if (r->req.started && psn_diff(p->psn, r->req.next) < 0 &&
			(!r->ack.acked || psn_diff(p->psn, r->ack.una) >= 0))
			refused_take(a, r, p->psn);
	}
}
