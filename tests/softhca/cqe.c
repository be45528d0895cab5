/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes completion queue entries and events; the entry formats are those of <infiniband/mlx5dv.h>,
 * the event records those of <rdma/ib_user_verbs.h>.
 */
#include "transport.h"

enum {
	DB_CONSUMER = 0,
	DB_ARM = 1,
	INDEX_MASK = 0xffffff,
	ARM_IDLE = -1,
	EVENT_QUEUE_BYTES = 1 << 20,
};

/* The flow tag that a rule without one gives; it is where a queue pair's number would be. */
static const uint32_t default_flow_tag = 0xffffff;

static void cq_load_consumer(struct cq *cq)
{
	cq->consumer =
		be32toh(__atomic_load_n(&cq->db[DB_CONSUMER], __ATOMIC_ACQUIRE)) & INDEX_MASK;
}

bool cq_has_room(struct cq *cq)
{
	if (((cq->producer - cq->consumer) & INDEX_MASK) < cq->entries)
		return true;
	cq_load_consumer(cq);
	return ((cq->producer - cq->consumer) & INDEX_MASK) < cq->entries;
}

static struct mlx5_cqe64 *cqe_at(struct cq *cq, uint32_t index)
{
	uint8_t *p = cq->buf + (size_t)(index & (cq->entries - 1)) * cq->cqe_size;

	return (struct mlx5_cqe64 *)(void *)(p + cq->cqe_size - sizeof(struct mlx5_cqe64));
}

static void cqe_publish(struct cq *cq, struct mlx5_cqe64 *cqe, uint8_t opcode)
{
	uint8_t own = (uint8_t)(opcode << 4 | !!(cq->producer & cq->entries));

	if (cq->hold && !cq->held_at) {
		cq->held_at = &cqe->op_own;
		cq->held_own = own;
	} else {
		__atomic_store_n(&cqe->op_own, own, __ATOMIC_RELEASE);
	}
	cq->producer++;
}

/*
 * A frame's completion. A device that compresses them (drivers/net/ethernet/mellanox/mlx5/core/
 * en_rx.c, mlx5e_decompress_cqes_start()) writes two as one title and an array of byte counts in
 * the next entry; the program does not request that.
 */
static void cqe_publish_frame(
	struct hca *h, struct cq *cq, struct mlx5_cqe64 *cqe, uint32_t byte_cnt)
{
	const uint8_t compressed = 3 << 2;
	uint32_t *mini;

	if (!h->conf->compresses) {
		cqe_publish(cq, cqe, MLX5_CQE_RESP_SEND);
		return;
	}
	if (!cq->compressing) {
		cq->compressing = true;
		cq->first_byte_cnt = byte_cnt;
		return;
	}
	cq->compressing = false;
	cqe->byte_cnt = htobe32(2);
	mini = (uint32_t *)(void *)cqe_at(cq, cq->producer + 1);
	/* The array has no opcode and no owner: its last byte is that of a byte count. */
	for (unsigned int i = 0; i < 8; i++) {
		mini[2 * i] = 0;
		mini[2 * i + 1] = htobe32(i ? byte_cnt : cq->first_byte_cnt);
	}
	__atomic_store_n(&cqe->op_own,
		(uint8_t)(MLX5_CQE_RESP_SEND << 4 | compressed | !!(cq->producer & cq->entries)),
		__ATOMIC_RELEASE);
	cq->producer += 2;
}

static struct mlx5_cqe64 *cqe_fill(
	struct cq *cq, const struct qp *qp, uint32_t byte_cnt, uint64_t stamp)
{
	struct mlx5_cqe64 *cqe = cqe_at(cq, cq->producer);

	cqe->slid = 0;
	cqe->flags_rqpn = 0;
	cqe->hds_ip_ext = MLX5_CQE_L3_OK | MLX5_CQE_L4_OK;
	cqe->l4_hdr_type_etc = MLX5_CQE_L3_HDR_TYPE_IPV4 << 2;
	cqe->vlan_info = 0;
	cqe->srqn_uidx = htobe32(qp->uidx);
	cqe->imm_inval_pkey = 0;
	cqe->app = 0;
	cqe->byte_cnt = htobe32(byte_cnt);
	cqe->timestamp = htobe64(stamp);
	cqe->sop_drop_qpn = htobe32(qp->type == IBV_QPT_RAW_PACKET ? default_flow_tag : qp->qpn);
	return cqe;
}

void cqe_write(struct hca *h, struct cq *cq, const struct qp *qp, uint32_t len, uint64_t stamp)
{
	struct mlx5_cqe64 *cqe = cqe_fill(cq, qp, len, stamp);

	cqe->wqe_counter = htobe16((uint16_t)(qp->rq_head - 1));
	cqe_publish_frame(h, cq, cqe, len);
}

void cqe_write_stray(struct cq *cq)
{
	struct qp none = {.uidx = 0xffffff};

	cqe_publish(cq, cqe_fill(cq, &none, 64, 0), MLX5_CQE_RESP_SEND);
}

void cqe_write_error(
	struct hca *h, struct cq *cq, const struct qp *qp, uint16_t wqe, const struct rq_error *e)
{
	struct mlx5_err_cqe *cqe;

	if (cq->dead || !cq_has_room(cq)) {
		cq_overrun(h, cq);
		return;
	}
	cqe = (struct mlx5_err_cqe *)cqe_at(cq, cq->producer);
	cqe->srqn = htobe32(qp->uidx);
	((struct mlx5_cqe64 *)cqe)->byte_cnt = htobe32(e->byte_cnt);
	cqe->vendor_err_synd = e->vendor;
	cqe->syndrome = e->syndrome;
	cqe->s_wqe_opcode_qpn = htobe32(qp->qpn);
	cqe->wqe_counter = htobe16(wqe);
	cqe_publish(cq, (struct mlx5_cqe64 *)cqe, MLX5_CQE_RESP_ERR);
}

void cqe_write_receipt(struct cq *cq, const struct qp *qp, const struct receipt *r)
{
	struct mlx5_cqe64 *cqe = cqe_fill(cq, qp, r->len, 0);

	cqe->flags_rqpn = htobe32((r->grh ? 1u << 28 : 0) | r->src_qpn);
	cqe->imm_inval_pkey = htobe32(r->imm);
	cqe->sop_drop_qpn = htobe32(qp->qpn);
	cqe->wqe_counter = htobe16((uint16_t)(qp->rq_head - 1));
	cqe_publish(cq, cqe, r->opcode);
}

void cqe_write_send(struct hca *h, const struct qp *qp, uint16_t wqe, uint32_t opcode,
	uint32_t byte_cnt, uint8_t syndrome)
{
	struct cq *cq = qp->send_cq;
	struct mlx5_cqe64 *cqe;

	if (cq->dead || !cq_has_room(cq)) {
		cq_overrun(h, cq);
		return;
	}
	cqe = cqe_at(cq, cq->producer);
	cqe->srqn_uidx = htobe32(qp->uidx);
	cqe->sop_drop_qpn = htobe32(opcode << 24 | qp->qpn);
	cqe->wqe_counter = htobe16(wqe);
	cqe->byte_cnt = htobe32(byte_cnt);
	if (syndrome) {
		((struct mlx5_err_cqe *)cqe)->syndrome = syndrome;
		((struct mlx5_err_cqe *)cqe)->vendor_err_synd = 0x52;
	}
	cqe_publish(cq, cqe, syndrome ? MLX5_CQE_REQ_ERR : MLX5_CQE_REQ);
}

bool cq_polled(struct cq *cq)
{
	cq_load_consumer(cq);
	return cq->consumer == (cq->producer & INDEX_MASK);
}

bool cq_waited_for(struct cq *cq)
{
	uint32_t arm = be32toh(__atomic_load_n(&cq->db[DB_ARM], __ATOMIC_ACQUIRE));

	return arm != (uint32_t)ARM_IDLE && (arm >> 28 & 3) == (cq->armed_fired & 3) &&
	       (arm & INDEX_MASK) == (cq->producer & INDEX_MASK);
}

void cq_hold(struct cq *cq)
{
	cq->hold = true;
	cq->held_at = NULL;
}

void cq_release(struct cq *cq)
{
	cq->hold = false;
	if (cq->held_at)
		__atomic_store_n(cq->held_at, cq->held_own, __ATOMIC_RELEASE);
	cq->held_at = NULL;
}

/* Hardware stops a queue that was written beyond what the consumer has freed. */
void cq_overrun(struct hca *h, struct cq *cq)
{
	struct qp *qp;

	if (cq->dead)
		return;
	cq->dead = true;
	h->stat.overruns++;
	async_cq_event(cq, IBV_EVENT_CQ_ERR);
	LIST_FOREACH (qp, &h->qps, link) {
		if (qp->recv_cq == cq && qp->state != IBV_QPS_RESET) {
			qp->state = IBV_QPS_ERR;
			async_qp_event(qp, IBV_EVENT_QP_FATAL);
		}
	}
	hca_retarget(h);
}

void event_fd_open(struct event_fd *e)
{
	int fd[2], bytes = EVENT_QUEUE_BYTES;

	e->user_fd = e->model_fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return;
	setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	e->user_fd = fd[0];
	e->model_fd = fd[1];
}

static bool event_send(struct event_fd *e, const void *record, size_t len)
{
	return e && !e->closed &&
	       send(e->model_fd, record, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

uint32_t event_fd_withdraw(struct event_fd *e, uint64_t element, size_t record)
{
	uint8_t kept[256][16], buf[16];
	uint32_t n = 0, gone = 0;

	if (!e || e->closed)
		return 0;
	while (n < ARRAY_SIZE(kept) &&
		recv(e->user_fd, buf, record, MSG_DONTWAIT) == (ssize_t)record) {
		if (!memcmp(buf, &element, sizeof(element)))
			gone++;
		else
			memcpy(kept[n++], buf, record);
	}
	for (uint32_t i = 0; i < n; i++)
		event_send(e, kept[i], record);
	return gone;
}

static bool async_send(struct ctx *ctx, uint64_t element, uint32_t type)
{
	struct ib_uverbs_async_event_desc d = {.element = element, .event_type = type};

	return event_send(ctx->async, &d, sizeof(d));
}

void async_port_event(struct hca *h, uint32_t type, uint32_t port)
{
	struct ctx *ctx;

	LIST_FOREACH (ctx, &h->contexts, link)
		if (ctx->open)
			async_send(ctx, port, type);
}

void async_cq_event(struct cq *cq, uint32_t type)
{
	if (async_send(cq->obj.ctx, cq->user_handle, type))
		cq->async_sent++;
}

void async_qp_event(struct qp *qp, uint32_t type)
{
	if (qp->obj.type == OBJ_WQ && type == IBV_EVENT_QP_FATAL)
		type = IBV_EVENT_WQ_FATAL;
	if (async_send(qp->obj.ctx, qp->user_handle, type))
		qp->async_sent++;
}

/* Whether moderation holds an event back (MLX5 CQ context: cq_max_count, cq_period). */
static bool gathering(struct cq *cq)
{
	uint64_t now;

	if (!cq->gather_count || cq->producer == cq->gather_from)
		return false;
	now = now_ns();
	if (!cq->gather_since)
		cq->gather_since = now;
	return cq->producer - cq->gather_from < cq->gather_count &&
	       now - cq->gather_since < cq->gather_ns;
}

/*
 * The arm record holds the request's serial number, kind and consumer index. A fresh request is all
 * zeros, so an idle record is kept at all ones, and a serial number that has fired counts no more.
 */
void cq_check_arm(struct cq *cq)
{
	struct ib_uverbs_comp_event_desc d = {.cq_handle = cq->user_handle};
	struct hca *h = cq->obj.ctx->hca;
	uint32_t raw, arm;

	if (!cq->channel || cq->dead || gathering(cq))
		return;
	raw = __atomic_load_n(&cq->db[DB_ARM], __ATOMIC_ACQUIRE);
	if (raw == (uint32_t)ARM_IDLE)
		return;
	arm = be32toh(raw);
	if ((arm >> 28 & 3) != (cq->armed_fired & 3) || arm & MLX5_CQ_DB_REQ_NOT_SOL)
		return;
	if ((arm & INDEX_MASK) == (cq->producer & INDEX_MASK))
		return;
	if (!__atomic_compare_exchange_n(&cq->db[DB_ARM], &raw, (uint32_t)ARM_IDLE, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	cq->armed_fired++;
	cq->gather_from = cq->producer;
	cq->gather_since = 0;
	if (h->conf->lost_events && ++cq->armed_events % h->conf->lost_events == 0) {
		h->stat.lost_events++;
		return;
	}
	if (event_send(cq->channel, &d, sizeof(d))) {
		cq->comp_sent++;
		h->stat.completion_events++;
	}
}
