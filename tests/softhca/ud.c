/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unreliable datagrams: from UD queue pairs to others of the same device, by number or through a
 * multicast group that they are attached to (<rdma/ib_user_verbs.h>).
 */
#include "transport.h"

enum {
	ETHERNET = 14,
	SEG_AV = 1,
	SEG_DATA = 4,
	GID_SHIFT = 20,
	QPN_MASK = 0xffffff,
	MULTICAST_QPN = 0xffffff,
	OWN_QKEY = 1u << 31, /* of a request: the queue pair's own is meant */
};

struct mcast {
	uint8_t gid[16];
	LIST_ENTRY(mcast) link;
};

static struct mcast *mcast_find(const struct qp *qp, const uint8_t gid[16])
{
	struct mcast *m;

	LIST_FOREACH (m, &qp->mcasts, link)
		if (!memcmp(m->gid, gid, sizeof(m->gid)))
			return m;
	return NULL;
}

CMD(attach_mcast)
{
	const struct ib_uverbs_attach_mcast *req = cmd->req;
	struct mcast *m;
	struct qp *qp = obj_get(ctx, OBJ_QP, req->qp_handle);

	if (!qp || qp->type != IBV_QPT_UD || !gid_is_multicast(req->gid))
		return EINVAL;
	if (mcast_find(qp, req->gid))
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return ENOMEM;
	memcpy(m->gid, req->gid, sizeof(m->gid));
	LIST_INSERT_HEAD(&qp->mcasts, m, link);
	/* The kernel refuses to destroy a queue pair that is attached. */
	qp->obj.users++;
	return 0;
}

CMD(detach_mcast)
{
	const struct ib_uverbs_detach_mcast *req = cmd->req;
	struct qp *qp = obj_get(ctx, OBJ_QP, req->qp_handle);
	struct mcast *m = qp ? mcast_find(qp, req->gid) : NULL;

	if (!m)
		return EINVAL;
	LIST_REMOVE(m, link);
	free(m);
	qp->obj.users--;
	return 0;
}

void mcasts_free(struct qp *qp)
{
	struct mcast *m;

	while ((m = LIST_FIRST(&qp->mcasts))) {
		LIST_REMOVE(m, link);
		free(m);
	}
}

/* Without a receive, or with another key, a datagram is lost. */
static void receive(struct hca *h, struct qp *qp, const struct packet *pk, const uint8_t *grh)
{
	struct rq_error e = {.vendor = 0x68};

	if (!qp_receiving(qp) || qp->attr.qkey != pk->qkey || qp->recv_cq->dead || !qp_posted(qp))
		return;
	e.syndrome = rq_scatter(h, qp, 0, grh, GRH_LEN);
	if (!e.syndrome && pk->len)
		e.syndrome = rq_scatter(h, qp, GRH_LEN, pk->payload, pk->len);
	if (e.syndrome) {
		cqe_write_error(h, qp->recv_cq, qp, qp->rq_head++, &e);
		qp_to_error(h, qp);
		return;
	}
	rq_done(h, qp,
		&(struct receipt){.opcode = pk->opcode == UD_SEND_ONLY_IMM ? MLX5_CQE_RESP_SEND_IMM
									   : MLX5_CQE_RESP_SEND,
			.len = GRH_LEN + pk->len,
			.imm = pk->imm,
			.src_qpn = pk->src_qpn,
			.grh = true});
}

/* To its queue pair, or to the members of its group. */
static void ud_deliver(struct hca *h, uint32_t port, const uint8_t dgid[16],
	const struct packet *pk, const uint8_t *grh)
{
	struct qp *qp;

	LIST_FOREACH (qp, &h->qps, link) {
		if (qp->obj.type != OBJ_QP || qp->type != IBV_QPT_UD || qp->port != port)
			continue;
		if (qp->qpn == pk->dest_qpn ||
			(pk->dest_qpn == MULTICAST_QPN && mcast_find(qp, dgid)))
			receive(h, qp, pk, grh);
	}
}

static bool path_of(
	struct hca *h, const struct qp *qp, const struct mlx5_wqe_av *av, struct path *path)
{
	uint32_t gid = be32toh(av->grh_gid_fl) >> GID_SHIFT & 0xff;

	if (path_find_lid(h, qp->port, be16toh(av->rlid), path))
		return true;
	if (!path_find(h, qp->port, gid, av->rgid, path))
		return false;
	memcpy(path->dmac, av->rmac, sizeof(path->dmac));
	path->tclass = av->tclass;
	path->hop_limit = av->hop_limit;
	path->sport = be16toh(av->rlid) | 0xc000;
	/* The switch that a group's frames come back from is the device itself. */
	if (gid_is_multicast(path->dgid))
		path->to = path->from;
	return true;
}

static uint8_t datagram_send(struct hca *h, struct qp *qp, const struct send_wqe *w)
{
	uint8_t payload[PAYLOAD_MAX], frame[PACKET_MAX], grh[GRH_LEN];
	struct mlx5_wqe_datagram_seg seg;
	struct packet pk = {.src_qpn = qp->qpn, .payload = payload, .imm = w->imm};
	struct path path;
	uint32_t len;
	bool group;

	for (uint32_t i = 0; i < sizeof(seg) / 16; i++)
		memcpy((uint8_t *)&seg + i * 16, sq_seg(qp, w->index, SEG_AV + i), 16);
	pk.opcode = w->opcode == MLX5_OPCODE_SEND_IMM ? UD_SEND_ONLY_IMM : UD_SEND_ONLY;
	pk.solicited = w->solicited;
	pk.dest_qpn = be32toh(seg.av.dqp_dct) & QPN_MASK;
	pk.qkey = be32toh(seg.av.key.qkey.qkey);
	if (pk.qkey & OWN_QKEY)
		pk.qkey = qp->attr.qkey;
	pk.psn = qp->rc.psn++;
	pk.len = sq_length(qp, w, SEG_DATA);
	if (pk.len > PAYLOAD_MAX)
		return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
	if (!path_of(h, qp, &seg.av, &path))
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	if (!sq_gather(h, qp, w, SEG_DATA, 0, payload, pk.len))
		return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
	len = roce_build(&path, &pk, frame);
	/* Datagrams are not cut into packets. */
	if (len > ETHERNET + path.from->conf->mtu)
		return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
	group = !path.ib && gid_is_multicast(path.dgid);
	wire_send(path.from, path.to, group ? TRAFFIC_MULTICAST : TRAFFIC_UD, false, frame, len);
	roce_grh(frame, &path, grh);
	if (path.to && path.to->up && path.from->up)
		ud_deliver(h, path.to->num, path.dgid, &pk, grh);
	return 0;
}

bool ud_turn(struct hca *h, struct qp *qp)
{
	struct send_wqe w;
	uint8_t syndrome;

	for (uint32_t n = 0; n < TURN_PACKETS; n++) {
		if (qp->state != IBV_QPS_RTS || !sq_next(qp, &w))
			return false;
		syndrome = w.opcode == MLX5_OPCODE_SEND || w.opcode == MLX5_OPCODE_SEND_IMM
				   ? datagram_send(h, qp, &w)
			   : w.opcode == MLX5_OPCODE_NOP ? 0
							 : MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		if (syndrome)
			sq_fail(h, qp, &w, syndrome);
		else
			sq_done(h, qp, &w, 0);
	}
	return true;
}
