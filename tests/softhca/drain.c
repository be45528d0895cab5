/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures how fast a consumer empties a full ring: everything is put in place behind one entry
 * whose owner bit is published last, so that the model does no work while the consumer does its
 * own.
 */
#include "softhca.h"

enum {
	LOOK_NS = 20000,
	SETTLED_NS = 10000000,
};

static bool drain_settled(struct port *p, uint16_t posted, uint64_t now)
{
	if (posted != p->drain.posted) {
		p->drain.posted = posted;
		p->drain.changed_ns = now;
	}
	return posted && (posted == p->drain.ring || now - p->drain.changed_ns > SETTLED_NS);
}

static bool drain_fill(struct hca *h, struct port *p, struct qp *qp)
{
	uint32_t n = 0, want = p->drain.posted;
	struct cq *cq = qp->recv_cq;

	if (want > cq->entries)
		want = cq->entries;
	cq_hold(cq);
	for (; n < want && frame_hold(p); n++) {
		frame_spend(h, p, NULL);
		if (!qp_receiving(qp))
			break;
	}
	p->drain.ring = p->drain.posted;
	p->drain.frames = n;
	p->drain.posted = qp_posted(qp);
	p->drain.start_ns = p->drain.changed_ns = now_ns();
	cq_release(cq);
	cq_check_arm(cq);
	return n;
}

enum turn drain_turn(struct hca *h, struct port *p, uint64_t *wake)
{
	struct qp *qp = p->ndests ? qp_queue(p->dest[0], &p->frame) : NULL;
	uint64_t now = now_ns();
	uint16_t posted;

	if (!qp || !p->up || !p->tried || p->ended || !qp_receiving(qp))
		return TURN_IDLE;
	*wake = now + LOOK_NS;
	posted = qp_posted(qp);
	if (!drain_settled(p, posted, now))
		return TURN_IDLE;
	if (p->drain.frames && h->stat.rounds < conf_get()->drain_rounds)
		h->stat.round[h->stat.rounds++] = (struct drain_round){
			.frames = p->drain.frames,
			.ns = p->drain.changed_ns - p->drain.start_ns,
		};
	p->drain.frames = 0;
	if (!h->stat.round)
		h->stat.round = calloc(conf_get()->drain_rounds, sizeof(*h->stat.round));
	if (!h->stat.round || h->stat.rounds == conf_get()->drain_rounds || !drain_fill(h, p, qp))
		p->ended = true;
	/* Strides that were too few for a frame are never used. */
	if (p->ended)
		p->held = false;
	return TURN_IDLE;
}
