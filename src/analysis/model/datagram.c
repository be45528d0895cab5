/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UC packets: a gap is a loss, and the message of a missing packet is lost with it. UD packets:
 * messages, Q_Keys and gaps; one source QP may send to many QPs, so a gap need not be a loss. A
 * receiver drops packets with another Q_Key than its own, without a NAK: IBTA volume 1, 10.2.5.
 */
#include "message.h"
#include "request.h"
#include <rdmadump/hash.h>

#define QKEYS_MAX     16384	 /* QPs whose Q_Key is known */
#define UD_FAR	      1024	 /* packets: a larger gap is another sequence */
#define START_PACKETS 512	 /* among which some may be late from before the capture */
#define QP1_QKEY      0x80010000 /* of every QP 1 */

void datagram_init(struct rd_analysis *a)
{
	bounded_init(&a->qkeys, QKEYS_MAX, sizeof(uint32_t));
}

/* Of the address that a flow goes to. */
static uint64_t hash_of(const struct flow *f)
{
	struct rd_hash h = rd_hash_begin();

	rd_hash_add(&h, rd_le64(f->id.dst));
	rd_hash_add(&h, rd_le64(f->id.dst + 8));
	rd_hash_add(&h, f->id.net);
	return rd_hash_end(&h, 3);
}

/* Whether the first packet to this QP had another Q_Key. */
static bool qkey_differs(struct rd_analysis *a, const struct flow *f, uint32_t qkey)
{
	uint32_t *first;
	bool made;

	if (f->id.dest_qp <= 1)
		return f->id.dest_qp && qkey != QP1_QKEY;
	first = must(a, bounded_take(&a->qkeys, hash_of(f), f->id.dest_qp, &made));
	if (!first)
		return false;
	if (made)
		*first = qkey;
	return *first != qkey;
}

/* The table is asked only when a flow begins or changes its Q_Key. */
static void qkey_take(struct rd_analysis *a, struct flow *f, uint32_t qkey)
{
	if (f->req.packets == 1 || f->req.qkey != qkey)
		f->req.qkey_differs = qkey_differs(a, f, qkey);
	f->req.qkey = qkey;
	flow_incident(a, f, RD_INC_QKEY, f->req.qkey_differs);
}

/* Counts the PSNs before this one that went to other QPs, or were lost. */
static void datagram_sequence(struct rd_analysis *a, struct flow *f, uint32_t psn)
{
	int32_t d = psn_diff(psn, f->req.next);

	if (d < 0 && d > -UD_FAR) { /* late */
		flow_take_back(f, RD_INC_UNSEEN);
		return;
	}
	if (d > 0 && d < UD_FAR) {
		flow_incident(a, f, RD_INC_GAP, 1);
		flow_incident(a, f, RD_INC_UNSEEN, (uint32_t)d);
	}
	f->req.next = f->req.at = psn_add(psn, 1);
}

void request_datagram(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	struct rd_deth deth;

	f->req.packets++;
	f->req.any = true;
	if (rd_packet_deth(it->p, &deth))
		qkey_take(a, f, deth.qkey);
	if (flow_is_duplicate(f, it, false)) {
		flow_incident(a, f, RD_INC_DUPLICATED, 1);
		return;
	}
	if (!f->req.started)
		flow_expect(f, it->p->psn);
	datagram_sequence(a, f, it->p->psn);
	message_take(a, f, it, false, true);
	goodput_add(a, &f->req.goodput, it->p->payload_len);
	flow_remember(a, f, it, false);
}

/* IBTA volume 1, 9.8.2.2: a receiver drops the rest of a message after a missing packet. */
static void message_breaks(struct rd_analysis *a, struct flow *f)
{
	if (f->req.message_open && !f->req.message_broken)
		flow_incident(a, f, RD_INC_BROKEN, 1);
	f->req.message_broken = true;
}

/* A packet in sequence, or after a gap: complete messages are goodput. */
static void uc_message(struct rd_analysis *a, struct flow *f, const struct item *it, bool gap)
{
	unsigned int bits = it->p->op->bits;
	struct rd_verb_use *use;

	if (gap)
		message_breaks(a, f);
	if (bits & RD_OP_FIRST) {
		f->req.message_broken = false;
	} else if (!f->req.message_open) {
		/* Its first packet was lost, or sent before the capture began. */
		flow_incident(a, f, RD_INC_BROKEN, f->req.packets > 1);
		f->req.message_broken = true;
	}
	f->req.message_open = !(bits & RD_OP_LAST);
	if (f->req.message_broken) {
		use = flow_verb(a, f, bits & RD_OP_WRITE ? RD_VERB_WRITE : RD_VERB_SEND);
		if (use)
			use->packets++;
		return;
	}
	message_take(a, f, it, false, true);
	if (bits & RD_OP_LAST)
		goodput_add(a, &f->req.goodput, f->req.message_bytes);
}

/* UC: nothing is retransmitted, so a gap is a loss. */
void request_uc(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	uint32_t psn = it->p->psn;
	struct trouble *t;
	int32_t d;

	f->req.packets++;
	if (!f->req.any)
		flow_transport(f, it->p);
	f->req.any = true;
	if (!f->req.started)
		flow_expect(f, psn);
	d = psn_diff(psn, f->req.next);
	if (d) {
		t = flow_trouble(a, f);
		if (!t)
			return;
		if (request_restarts(f, it->p, d)) {
			flow_incident(a, f, RD_INC_RESTART, 1);
			flow_expect(f, psn);
		} else if (d > 0) {
			flow_incident(a, f, RD_INC_GAP, 1);
			flow_incident(a, f, RD_INC_UNSEEN, (uint64_t)d);
			seq_add_hole(&t->seen, f->req.next, (uint32_t)d);
		} else if (f->req.packets < START_PACKETS && psn_diff(psn, f->req.first) < 0) {
			/* sent before the first one of the capture */
			flow_incident(a, f, RD_INC_REORDERED, 1);
			return;
		} else if (seq_fill(&t->seen, psn, 1)) {
			flow_incident(a, f, RD_INC_REORDERED, 1);
			flow_take_back(f, RD_INC_UNSEEN);
			return;
		} else {
			flow_incident(a, f, RD_INC_DUPLICATED, 1);
			return;
		}
	}
	f->req.next = f->req.at = psn_add(psn, 1);
	uc_message(a, f, it, d != 0);
	flow_remember(a, f, it, false);
}
