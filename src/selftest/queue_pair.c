/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creates, connects and uses the queue pairs that probes send from and to. */
#include "queue_pair.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PSN   0x5e1f00
#define QKEY	    0x1ee7a11
#define HOP_LIMIT   1  /* never leaves this link */
#define ACK_TIMEOUT 12 /* 4.096 us * 2^12: 17 ms; devices may wait longer */
#define RETRIES	    3

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
	struct ibv_qp_init_attr attr = {.qp_type = type,
		.cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	const size_t bytes = 2 * QUEUE_PAIR_BYTES;

	q->memory = calloc(1, bytes);
	if (!q->memory)
		return ENOMEM;
	errno = 0;
	q->pd = ibv_alloc_pd(q->ctx);
	if (q->pd)
		q->mr = ibv_reg_mr(
			q->pd, q->memory, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (q->mr)
		q->cq = ibv_create_cq(q->ctx, 8, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = q->cq;
	if (q->cq)
		q->qp = ibv_create_qp(q->pd, &attr);
	return q->qp ? 0 : errno ? errno : EIO;
}

static int to_init(struct queue_pair *q)
{
	bool ud = q->qp->qp_type == IBV_QPT_UD;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
		.port_num = (uint8_t)q->port->num,
		.qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	return ibv_modify_qp(q->qp, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

int queue_pair_open(struct queue_pair *q, struct ibv_context *ctx, const struct rd_port *port,
	enum ibv_qp_type type)
{
	struct ibv_port_attr attr;
	int rc;

	*q = (struct queue_pair){.ctx = ctx, .port = port, .gid = gid_of(port)};
	q->retries = RETRIES;
	q->ack_timeout = ACK_TIMEOUT;
	if (!q->gid && port->link != RD_LINK_INFINIBAND)
		return EADDRNOTAVAIL;
	rc = ibv_query_port(ctx, (uint8_t)port->num, &attr);
	if (rc)
		return rc;
	q->mtu = 128U << attr.active_mtu;
	if (q->mtu > QUEUE_PAIR_MTU)
		q->mtu = QUEUE_PAIR_MTU;
	rc = make_objects(q, type);
	return rc ? rc : to_init(q);
}

/* --- where it sends to -------------------------------------------------------------------- */

/* IPv4: 239.255/16, of the local site; IPv6: transient, of the link. */
static void put_group(const struct rd_gid *gid, uint8_t raw[16])
{
	static const uint8_t v4[16] = {[10] = 0xff, 0xff, 239, 255, 0x5e, 0x1f};
	static const uint8_t v6[16] = {0xff, 0x12, [14] = 0x5e, 0x1f};

	memcpy(raw, is_ipv4(gid) ? v4 : v6, sizeof(v4));
}

/* NULL: to the multicast group of this link that matches the GID. */
static struct ibv_ah_attr path_to(const struct queue_pair *q, const struct queue_pair *to)
{
	struct ibv_ah_attr attr = {
		.port_num = (uint8_t)q->port->num, .dlid = (uint16_t)(to ? to : q)->port->lid};

	if (q->port->link == RD_LINK_INFINIBAND)
		return attr;
	attr.is_global = 1;
	attr.grh.sgid_index = (uint8_t)q->gid->index;
	attr.grh.hop_limit = HOP_LIMIT;
	if (to)
		memcpy(attr.grh.dgid.raw, to->gid->raw, sizeof(attr.grh.dgid.raw));
	else
		put_group(q->gid, attr.grh.dgid.raw);
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

	if (q->mtu > to->mtu)
		q->mtu = to->mtu;
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
	struct ibv_qp_attr state = {.qp_state = IBV_QPS_RTR};
	struct ibv_ah_attr attr;
	int rc;

	/* On InfiniBand the subnet manager must create the group first. */
	if (!to && q->port->link == RD_LINK_INFINIBAND)
		return EOPNOTSUPP;
	attr = path_to(q, to);
	q->ah_qpn = to ? to->qp->qp_num : 0xffffff;
	rc = ibv_modify_qp(q->qp, &state, IBV_QP_STATE);
	state.qp_state = IBV_QPS_RTS;
	if (!rc)
		rc = ibv_modify_qp(q->qp, &state, IBV_QP_STATE | IBV_QP_SQ_PSN);
	if (rc)
		return rc;
	errno = 0;
	q->ah = ibv_create_ah(q->pd, &attr);
	return q->ah ? 0 : errno ? errno : EIO;
}

void queue_pair_close(struct queue_pair *q)
{
	if (q->ah)
		ibv_destroy_ah(q->ah);
	if (q->qp)
		ibv_destroy_qp(q->qp);
	if (q->cq)
		ibv_destroy_cq(q->cq);
	if (q->mr)
		ibv_dereg_mr(q->mr);
	if (q->pd)
		ibv_dealloc_pd(q->pd);
	free(q->memory);
	*q = (struct queue_pair){0};
}

/* --- sending ------------------------------------------------------------------------------ */

static int wait_for(const struct rd_selftest *st, struct queue_pair *q, struct watch *w,
	enum ibv_wc_status *status)
{
	bool compressed = false;
	struct ibv_wc wc;
	int n;

	while (!(n = cqes_poll(q->cq, 1, &wc, &compressed)) && !compressed && !probe_over(st)) {
		watch_drain(w);
		probe_sleep_ms(st, 1);
	}
	if (n < 0 || compressed)
		return EIO;
	if (!n)
		return ETIMEDOUT;
	*status = wc.status;
	return 0;
}

int queue_pair_send(const struct rd_selftest *st, struct queue_pair *q, const struct queue_pair *to,
	uint32_t n, struct watch *w, enum ibv_wc_status *status)
{
	struct ibv_sge sge = {(uintptr_t)q->memory, n, q->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED},
			   *bad;
	int rc;

	if (q->qp->qp_type == IBV_QPT_UD) {
		wr.opcode = IBV_WR_SEND;
		wr.wr.ud.ah = q->ah;
		wr.wr.ud.remote_qpn = q->ah_qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else {
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = (uintptr_t)to->memory + QUEUE_PAIR_BYTES;
		wr.wr.rdma.rkey = to->mr->rkey;
	}
	rc = ibv_post_send(q->qp, &wr, &bad);
	return rc ? rc : wait_for(st, q, w, status);
}

int queue_pair_send_numbers(const struct rd_selftest *st, struct queue_pair *q,
	const struct queue_pair *to, struct watch *w, uint32_t n)
{
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	int rc = 0;

	for (uint32_t i = 0; i < w->m->count && !rc; i++) {
		numbered_block(q->memory, n, w->m->run, i);
		rc = queue_pair_send(st, q, to, n, w, &status);
		if (!rc && status != IBV_WC_SUCCESS)
			rc = status == IBV_WC_RETRY_EXC_ERR ? EHOSTUNREACH : EIO;
	}
	return rc;
}
