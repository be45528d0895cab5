/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The responder of a reliable connection: puts requests into memory in the order of their PSNs and
 * answers them (InfiniBand Architecture Specification 1.4, 9.7).
 */
#include "transport.h"

static bool is_first(uint8_t op)
{
	return op == SEND_FIRST || op == SEND_ONLY || op == SEND_ONLY_IMM || op == WRITE_FIRST ||
	       op == WRITE_ONLY || op == WRITE_ONLY_IMM;
}

static bool is_last(uint8_t op)
{
	return op != SEND_FIRST && op != SEND_MIDDLE && op != WRITE_FIRST && op != WRITE_MIDDLE;
}

static bool takes_receive(uint8_t op)
{
	return op == SEND_FIRST || op == SEND_ONLY || op == SEND_ONLY_IMM || op == WRITE_LAST_IMM ||
	       op == WRITE_ONLY_IMM;
}

static void acknowledge(struct hca *h, struct qp *qp, uint32_t psn, uint8_t syndrome)
{
	rc_transmit(h, qp,
		&(struct packet){.opcode = ACKNOWLEDGE,
			.dest_qpn = qp->attr.dest_qpn,
			.psn = psn,
			.syndrome = syndrome,
			.msn = qp->rc.msn},
		false);
}

/* The requester gets the reason, and this queue pair enters the error state. */
static void refuse(struct hca *h, struct qp *qp, uint32_t psn, uint8_t syndrome)
{
	acknowledge(h, qp, psn, syndrome);
	async_qp_event(
		qp, syndrome == AETH_ACCESS_ERROR ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR);
	qp_to_error(h, qp);
}

static uint8_t *remote_memory(struct hca *h, const struct qp *qp, uint32_t rkey, uint64_t va,
	uint32_t len, uint32_t access)
{
	const struct mr *mr = rkey >> 8 < h->nkeys && h->keys ? h->keys[rkey >> 8] : NULL;

	if (!(qp->attr.access & access) || !mr || mr->lkey != rkey || mr->pd != qp->pd ||
		!(mr->access & access) || va < mr->iova || len > mr->length ||
		va - mr->iova > mr->length - len)
		return NULL;
	return (uint8_t *)(uintptr_t)(mr->start + (va - mr->iova));
}

static uint8_t read_opcode(bool first, bool last)
{
	static const uint8_t op[2][2] = {{READ_MIDDLE, READ_LAST}, {READ_FIRST, READ_ONLY}};

	return op[first][last];
}

/* Returns how many responses there were: so many PSNs the request takes; 0: it was refused. */
static uint32_t read_answer(struct hca *h, struct qp *qp, const struct packet *pk)
{
	uint32_t mtu = 128u << qp->attr.path_mtu, at = 0, n = 0;
	const uint8_t *mem =
		remote_memory(h, qp, pk->rkey, pk->va, pk->dma_len, IBV_ACCESS_REMOTE_READ);

	if (pk->dma_len && !mem) {
		refuse(h, qp, pk->psn, AETH_ACCESS_ERROR);
		return 0;
	}
	do {
		uint32_t len = pk->dma_len - at < mtu ? pk->dma_len - at : mtu;

		rc_transmit(h, qp,
			&(struct packet){.opcode = read_opcode(!n, at + len == pk->dma_len),
				.dest_qpn = qp->attr.dest_qpn,
				.psn = pk->psn + n,
				.syndrome = AETH_ACK,
				.msn = qp->rc.msn,
				.payload = mem ? mem + at : NULL,
				.len = len},
			false);
		at += len;
		n++;
	} while (at < pk->dma_len);
	return n;
}

/* 0 or the syndrome of the response. */
static uint8_t place_write(struct hca *h, struct qp *qp, const struct packet *pk)
{
	struct rc_state *rc = &qp->rc;
	uint8_t *mem;

	if (is_first(pk->opcode)) {
		rc->in_va = pk->va;
		rc->in_rkey = pk->rkey;
		rc->in_at = 0;
	}
	if (!pk->len)
		return 0;
	mem = remote_memory(
		h, qp, rc->in_rkey, rc->in_va + rc->in_at, pk->len, IBV_ACCESS_REMOTE_WRITE);
	if (!mem)
		return AETH_ACCESS_ERROR;
	memcpy(mem, pk->payload, pk->len);
	rc->in_at += pk->len;
	return 0;
}

static uint8_t place_send(struct hca *h, struct qp *qp, const struct packet *pk)
{
	struct rq_error e = {.vendor = 0x68};

	if (is_first(pk->opcode))
		qp->rc.in_at = 0;
	e.syndrome = rq_scatter(h, qp, qp->rc.in_at, pk->payload, pk->len);
	if (e.syndrome) {
		cqe_write_error(h, qp->recv_cq, qp, qp->rq_head++, &e);
		return e.syndrome == MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR ? AETH_INVALID_REQUEST
									: AETH_OPERATION_ERROR;
	}
	qp->rc.in_at += pk->len;
	return 0;
}

void rq_done(struct hca *h, struct qp *qp, const struct receipt *r)
{
	qp->rq_head++;
	qp->rq_ready = 0; /* read again when it is asked for */
	if (cq_has_room(qp->recv_cq))
		cqe_write_receipt(qp->recv_cq, qp, r);
	else
		cq_overrun(h, qp->recv_cq);
}

static void message_complete(struct hca *h, struct qp *qp, const struct packet *pk)
{
	struct receipt r = {.len = qp->rc.in_at, .imm = pk->imm};

	qp->rc.msn = (qp->rc.msn + 1) & PSN_MASK;
	if (pk->opcode == WRITE_LAST_IMM || pk->opcode == WRITE_ONLY_IMM)
		r.opcode = MLX5_CQE_RESP_WR_IMM;
	else if (pk->opcode == SEND_LAST_IMM || pk->opcode == SEND_ONLY_IMM)
		r.opcode = MLX5_CQE_RESP_SEND_IMM;
	else if (pk->opcode == SEND_LAST || pk->opcode == SEND_ONLY)
		r.opcode = MLX5_CQE_RESP_SEND;
	else
		return;
	rq_done(h, qp, &r);
}

/* A retransmitted request: it gets its response or ACK once more, and changes nothing. */
static void duplicate(struct hca *h, struct qp *qp, const struct packet *pk)
{
	if (pk->opcode == READ_REQUEST)
		read_answer(h, qp, pk);
	else
		acknowledge(h, qp, (qp->rc.expected - 1) & PSN_MASK, AETH_ACK);
}

void rc_request(struct hca *h, struct qp *qp, const struct packet *pk)
{
	struct rc_state *rc = &qp->rc;
	uint32_t psn = pk->psn & PSN_MASK, ahead = (psn - rc->expected) & PSN_MASK;
	uint8_t syndrome;

	if (!qp_receiving(qp) || qp->recv_cq->dead)
		return;
	if (ahead >= (PSN_MASK + 1) / 2) {
		duplicate(h, qp, pk);
		return;
	}
	if (ahead) {
		if (!rc->nak_sent)
			acknowledge(h, qp, rc->expected, AETH_PSN_ERROR);
		rc->nak_sent = true;
		return;
	}
	rc->nak_sent = false;
	if (pk->opcode == READ_REQUEST) {
		uint32_t n;

		rc->msn = (rc->msn + 1) & PSN_MASK;
		n = read_answer(h, qp, pk);
		rc->expected = (psn + n) & PSN_MASK;
		return;
	}
	if (takes_receive(pk->opcode) && !qp_posted(qp)) {
		acknowledge(h, qp, psn, AETH_RNR | (qp->attr.min_rnr & 0x1f));
		return;
	}
	syndrome = pk->opcode >= WRITE_FIRST ? place_write(h, qp, pk) : place_send(h, qp, pk);
	if (syndrome) {
		refuse(h, qp, psn, syndrome);
		return;
	}
	rc->expected = (psn + 1) & PSN_MASK;
	if (is_last(pk->opcode))
		message_complete(h, qp, pk);
	if (pk->ack_req)
		acknowledge(h, qp, psn, AETH_ACK);
}
