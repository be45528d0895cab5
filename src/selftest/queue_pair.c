/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creates, connects and uses the queue pairs that probes send from and to. */
#include "queue_pair.h"
#include <rdmadump/verbs.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PSN   0x5e1f00
#define QKEY	    0x1ee7a11
#define HOP_LIMIT   1  /* never leaves this link */
#define ACK_TIMEOUT 12 /* 4.096 us * 2^12: 17 ms; devices may wait longer */
#define RETRIES	    3
#define IN_FLIGHT   4 /* messages */

/* --- objects ------------------------------------------------------------------------------ */

static bool is_ipv4(const struct rd_gid *gid)
{
	static const uint8_t prefix[12] = {[10] = 0xff, 0xff};

	return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

/* The most widely supported first: RoCE v2 over IPv4, RoCE v2, then any. */
static const struct rd_gid *gid_of(const struct rd_port *port)
{
	const struct rd_gid *best = NULL;
	int most = -1;

	for (unsigned int i = 0; i < port->n_gids; i++) {
		const struct rd_gid *g = &port->gids[i];
		int rank = g->type == RD_GID_ROCE_V2 ? 1 + is_ipv4(g) : 0;

		if (rank > most) {
			most = rank;
			best = g;
		}
	}
	return best;
}

static int make_objects(struct queue_pair *q, enum ibv_qp_type type)
{
	bool raw = type == IBV_QPT_RAW_PACKET;
	size_t bytes = raw ? (size_t)QUEUE_PAIR_SLOTS * RING_BUFFER : 2 * QUEUE_PAIR_BYTES;
	struct ibv_qp_init_attr attr = {.qp_type = type,
		.cap = {.max_send_wr = raw ? QUEUE_PAIR_SLOTS : IN_FLIGHT,
			.max_recv_wr = !raw,
			.max_send_sge = 1,
			.max_recv_sge = !raw}};

	q->memory = calloc(1, bytes);
	if (!q->memory)
		return ENOMEM;
	errno = 0;
	q->pd = ibv_alloc_pd(q->ctx);
	if (q->pd)
		q->mr = ibv_reg_mr(q->pd, q->memory, bytes,
			raw ? 0 : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (q->mr)
		q->cq = ibv_create_cq(
			q->ctx, raw ? QUEUE_PAIR_SLOTS : 2 * IN_FLIGHT, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = q->cq;
	if (q->cq)
		q->qp = ibv_create_qp(q->pd, &attr);
	return q->qp ? 0 : errno ? errno : EIO;
}

static int to_init(struct queue_pair *q)
{
	static const int masks[] = {[IBV_QPT_RC] = IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS,
		[IBV_QPT_UD] = IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
		[IBV_QPT_RAW_PACKET] = 0};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
		.port_num = (uint8_t)q->port->num,
		.qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	return ibv_modify_qp(q->qp, &attr, IBV_QP_STATE | IBV_QP_PORT | masks[q->qp->qp_type]);
}

/* Not of a connection. */
static int to_rts(struct queue_pair *q)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	int rc = ibv_modify_qp(q->qp, &attr, IBV_QP_STATE);

	attr.qp_state = IBV_QPS_RTS;
	if (rc)
		return rc;
	return ibv_modify_qp(
		q->qp, &attr, IBV_QP_STATE | (q->qp->qp_type == IBV_QPT_UD ? IBV_QP_SQ_PSN : 0));
}

int queue_pair_open(struct queue_pair *q, struct ibv_context *ctx, const struct rd_port *port,
	enum ibv_qp_type type)
{
	bool raw = type == IBV_QPT_RAW_PACKET;
	struct ibv_port_attr attr;
	int rc;

	*q = (struct queue_pair){.ctx = ctx,
		.port = port,
		.gid = raw ? NULL : gid_of(port),
		.retries = RETRIES,
		.ack_timeout = ACK_TIMEOUT};
	if (!q->gid && !raw && port->link != RD_LINK_INFINIBAND)
		return EADDRNOTAVAIL;
	rc = ibv_query_port(ctx, (uint8_t)port->num, &attr);
	if (rc)
		return rc;
	q->mtu = 128U << attr.active_mtu;
	q->mtu = RD_MIN(q->mtu, QUEUE_PAIR_MTU);
	rc = make_objects(q, type);
	if (!rc)
		rc = to_init(q);
	return rc || !raw ? rc : to_rts(q);
}

void objects_destroy(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_mr *mr, struct ibv_pd *pd)
{
	if (qp)
		ibv_destroy_qp(qp);
	if (cq)
		ibv_destroy_cq(cq);
	if (mr)
		ibv_dereg_mr(mr);
	if (pd)
		ibv_dealloc_pd(pd);
}

void queue_pair_close(struct queue_pair *q)
{
	if (q->ah)
		ibv_destroy_ah(q->ah);
	objects_destroy(q->qp, q->cq, q->mr, q->pd);
	free(q->memory);
	*q = (struct queue_pair){0};
}

/* --- where it sends to -------------------------------------------------------------------- */

/* NULL: to the multicast group that matches the GID. IPv4: of the local site; IPv6: of the link. */
static struct ibv_ah_attr path_to(const struct queue_pair *q, const struct queue_pair *to)
{
	static const uint8_t v4[16] = {[10] = 0xff, 0xff, 239, 255, 0x5e, 0x1f};
	static const uint8_t v6[16] = {0xff, 0x12, [14] = 0x5e, 0x1f};
	struct ibv_ah_attr attr = {
		.port_num = (uint8_t)q->port->num, .dlid = (uint16_t)(to ? to : q)->port->lid};

	if (q->port->link == RD_LINK_INFINIBAND)
		return attr;
	attr.is_global = 1;
	attr.grh.sgid_index = (uint8_t)q->gid->index;
	attr.grh.hop_limit = HOP_LIMIT;
	memcpy(attr.grh.dgid.raw, to ? to->gid->raw : is_ipv4(q->gid) ? v4 : v6, sizeof(v4));
	return attr;
}

int queue_pair_connect(struct queue_pair *q, const struct queue_pair *to)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
		.ah_attr = path_to(q, to),
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = to->qp->qp_num,
		.rq_psn = FIRST_PSN,
		.min_rnr_timer = 12};
	int rc;

	q->mtu = RD_MIN(q->mtu, to->mtu);
	while (128U << attr.path_mtu < q->mtu)
		attr.path_mtu++;
	rc = ibv_modify_qp(q->qp, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (rc)
		return rc;
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
		.timeout = (uint8_t)q->ack_timeout,
		.retry_cnt = (uint8_t)q->retries,
		.sq_psn = FIRST_PSN};
	return ibv_modify_qp(q->qp, &attr,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int queue_pair_address(struct queue_pair *q, const struct queue_pair *to)
{
	struct ibv_ah_attr attr;
	int rc;

	/* On InfiniBand the subnet manager must create the group first. */
	if (!to && q->port->link == RD_LINK_INFINIBAND)
		return EOPNOTSUPP;
	attr = path_to(q, to);
	q->ah_qpn = to ? to->qp->qp_num : 0xffffff;
	rc = to_rts(q);
	if (rc)
		return rc;
	errno = 0;
	q->ah = ibv_create_ah(q->pd, &attr);
	return q->ah ? 0 : errno ? errno : EIO;
}

/* --- sending ------------------------------------------------------------------------------ */

int queue_pair_post(struct queue_pair *q, const struct queue_pair *to, size_t at, uint32_t n)
{
	struct ibv_sge sge = {(uintptr_t)q->memory + at, n, q->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	if (q->qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = q->ah;
		wr.wr.ud.remote_qpn = q->ah_qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (q->qp->qp_type == IBV_QPT_RC) {
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = (uintptr_t)to->memory + QUEUE_PAIR_BYTES;
		wr.wr.rdma.rkey = to->mr->rkey;
	}
	return ibv_post_send(q->qp, &wr, &bad);
}

int queue_pair_poll(struct queue_pair *q, enum ibv_wc_status *status)
{
	bool compressed = false;
	struct ibv_wc wc;
	int n = rd_verbs_readable(q->cq, 1, &compressed) ? ibv_poll_cq(q->cq, 1, &wc) : 0;

	if (n < 0 || compressed)
		return -1;
	if (n)
		*status = wc.status;
	return n;
}
