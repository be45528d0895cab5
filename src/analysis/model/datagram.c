/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UC packets: a gap is a loss. UD packets: messages and Q_Keys. One source QP may send to many QPs,
 * so its PSNs show no loss. A receiver drops packets with another Q_Key than its own, without a
 * NAK: IBTA volume 1, 10.2.5.
 */
#include "state.h"
#include <rdmadump/hash.h>
#include <stdlib.h>

#define QKEY_SLOTS 16384
#define QP1_QKEY   0x80010000 /* of every QP 1 */

/* Q_Key of the first packet to a QP; a later QP replaces it where both have the same slot. */
struct qkey_slot {
	uint64_t qp; /* hash of its address and number; 0: empty */
	uint32_t qkey;
};

static uint64_t hash_of(const struct flow *f)
{
	struct rd_hash h = rd_hash_begin();
	uint64_t dst[2];

	memcpy(dst, f->id.dst, sizeof(dst));
	rd_hash_add(&h, dst[0]);
	rd_hash_add(&h, dst[1]);
	rd_hash_add(&h, (uint64_t)f->id.net << 32 | f->id.dest_qp);
	return rd_hash_end(&h, 3) | 1;
}

static bool qkey_differs(struct rd_analysis *a, const struct flow *f, uint32_t qkey)
{
	uint64_t qp = hash_of(f);
	struct qkey_slot *s;

	if (f->id.dest_qp <= 1)
		return f->id.dest_qp && qkey != QP1_QKEY;
	if (!a->qkeys)
		a->qkeys = calloc(QKEY_SLOTS, sizeof(*a->qkeys));
	if (!a->qkeys)
		return false;
	s = &a->qkeys[(qp >> 1) % QKEY_SLOTS];
	if (s->qp != qp)
		*s = (struct qkey_slot){qp, qkey};
	return s->qkey != qkey;
}

/* The table is asked only when a flow begins or changes its Q_Key. */
static void qkey_take(struct rd_analysis *a, struct flow *f, uint32_t qkey)
{
	if (f->req.packets == 1 || f->req.qkey != qkey)
		f->req.qkey_differs = qkey_differs(a, f, qkey);
	f->req.qkey = qkey;
	flow_incident(a, f, RD_INC_QKEY, f->req.qkey_differs);
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
	f->req.next = f->req.at = psn_add(it->p->psn, 1);
	request_message(a, f, it);
	flow_remember(a, f, it, false);
}

/* UC: nothing is retransmitted, so a gap is a loss. */
void request_uc(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	uint32_t psn = it->p->psn;
	struct rd_incident *unseen;
	struct trouble *t;
	int32_t d;

	f->req.packets++;
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
		} else if (seq_fill(&t->seen, psn, 1)) {
			flow_incident(a, f, RD_INC_REORDERED, 1);
			unseen = incident_of(&f->incidents, RD_INC_UNSEEN);
			if (unseen && unseen->count)
				unseen->count--;
		} else {
			flow_incident(a, f, RD_INC_DUPLICATED, 1);
			return;
		}
	}
	if (psn_diff(psn, f->req.next) >= 0)
		f->req.next = f->req.at = psn_add(psn, 1);
	request_message(a, f, it);
	flow_remember(a, f, it, false);
}
