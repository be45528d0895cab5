/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections that the CM makes and ends: IBTA volume 1, 12.6 and 12.9. */
#include "../apps/apps.h"
#include "state.h"

/*
 * The open request with this communication ID between two addresses, of this network if there is
 * one; NULL: none.
 */
static struct cm_request *request_of(struct rd_analysis *a, const uint8_t *src, const uint8_t *dst,
	uint32_t local_id, uint32_t network)
{
	struct cm_request *other = NULL;

	for (unsigned int i = 0; i < CM_OPEN; i++) {
		struct cm_request *r = &a->cm.open[i];

		if (!r->used || r->local_id != local_id || memcmp(r->src, src, 16) != 0 ||
			memcmp(r->dst, dst, 16) != 0)
			continue;
		if (r->network == network)
			return r;
		other = r;
	}
	return other;
}

static void cm_request(struct rd_analysis *a, struct flow *f, const struct rd_cm *cm)
{
	struct cm_request *r = request_of(a, f->id.src, f->id.dst, cm->local_id, f->id.network);

	if (r && r->network == f->id.network && r->qpn == cm->qpn && r->psn == cm->psn) {
		incident_add(&r->tries, 1, a->frame, a->ns);
		return;
	}
	r = &a->cm.open[a->cm.at++ % CM_OPEN];
	*r = (struct cm_request){.local_id = cm->local_id,
		.qpn = cm->qpn,
		.psn = cm->psn,
		.network = f->id.network,
		.made = {.service_id = cm->service_id,
			.frame = a->frame,
			.retry_count = (uint8_t)cm->retry_count,
			.rnr_retry = (uint8_t)cm->rnr_retry,
			.ack_timeout = (uint8_t)cm->ack_timeout},
		.net = f->id.net,
		.used = true};
	incident_add(&r->tries, 1, a->frame, a->ns);
	app_asked(cm, &r->made);
	memcpy(r->src, f->id.src, sizeof(r->src));
	memcpy(r->dst, f->id.dst, sizeof(r->dst));
}

/* REQ and REP each have the QP and the first PSN of the requests from their peer. */
static void cm_reply(struct rd_analysis *a, struct flow *f, const struct rd_cm *cm)
{
	struct cm_request *r = request_of(a, f->id.dst, f->id.src, cm->remote_id, f->id.network);
	struct flow_key there, back;
	struct rd_connection made;

	if (!r)
		return;
	r->answered = true;
	there = flow_key(f->id.net, f->id.dst, f->id.src, cm->qpn, RD_QP_UNKNOWN);
	back = flow_key(f->id.net, f->id.src, f->id.dst, r->qpn, RD_QP_UNKNOWN);
	made = r->made;
	made.reply_rnr_retry = (uint8_t)cm->rnr_retry;
	pair_link(a, &(struct link_pair){there.k1, there.k2, back.k1, back.k2, r->network,
			     f->id.network, cm->psn, RD_PAIR_CM, true, made});
	pair_link(a, &(struct link_pair){back.k1, back.k2, there.k1, there.k2, f->id.network,
			     r->network, r->psn, RD_PAIR_CM, false, made});
}

static void cm_reject(struct rd_analysis *a, struct flow *f, const struct rd_cm *cm)
{
	struct cm_request *r = request_of(a, f->id.dst, f->id.src, cm->remote_id, f->id.network);
	const uint64_t service = r ? r->made.service_id : 0;
	struct cm_reject *j = RD_FIND(known, a->cm.rejects, a->cm.n_rejects,
		known->reason == cm->reason && known->of_request == !cm->message &&
			memcmp(known->src, f->id.src, 16) == 0 &&
			memcmp(known->dst, f->id.dst, 16) == 0);

	if (r)
		r->rejected = true;
	if (!j && a->cm.n_rejects == CM_REJECTS)
		return;
	if (!j) {
		j = &a->cm.rejects[a->cm.n_rejects++];
		*j = (struct cm_reject){.reason = cm->reason,
			.of_request = !cm->message,
			.service = service,
			.net = f->id.net};
		memcpy(j->src, f->id.src, sizeof(j->src));
		memcpy(j->dst, f->id.dst, sizeof(j->dst));
	}
	if (j->service != service)
		j->service = 0;
	incident_add(&j->incident, 1, a->frame, a->ns);
}

/* The DREQ has the QP of the sender's peer: both directions end. */
static void cm_disconnect(struct rd_analysis *a, struct flow *f, const struct rd_cm *cm)
{
	struct flow_key key =
		flow_key(f->id.net, f->id.src, f->id.dst, cm->remote_qpn, RD_QP_UNKNOWN);
	struct flow *g = flow_in(&a->flows, &key, f->id.network);

	if (!g)
		return;
	g->pair.cm_ended = true;
	if (g->pair.peer)
		g->pair.peer->pair.cm_ended = true;
}

void cm_message(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	struct rd_mad mad;
	struct rd_cm cm;

	if (!rd_packet_mad(it->p, &mad) || !rd_mad_cm(&mad, &cm))
		return;
	switch (mad.attribute) {
	case RD_CM_REQ:
		cm_request(a, f, &cm);
		break;
	case RD_CM_REP:
		cm_reply(a, f, &cm);
		break;
	case RD_CM_REJ:
		cm_reject(a, f, &cm);
		break;
	case RD_CM_DREQ:
		cm_disconnect(a, f, &cm);
		break;
	default:
		break;
	}
}
