/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requester of a reliable connection: cuts messages into packets, and retransmits them when the
 * responder requests that or sends no response (InfiniBand Architecture Specification 1.4, 9.7).
 * One message is under way at a time.
 */
#include "transport.h"

enum { SEG_CTRL_END = 1, SEG_RADDR_END = 2, RNR_FOREVER = 7, AETH_TIMER = 0x1f };

enum service { SERVICE_NONE, SERVICE_SEND, SERVICE_WRITE, SERVICE_READ };

static const struct {
	uint8_t service, first_seg;
	bool imm;
} services[256] = {
	[MLX5_OPCODE_SEND] = {SERVICE_SEND, SEG_CTRL_END, false},
	[MLX5_OPCODE_SEND_IMM] = {SERVICE_SEND, SEG_CTRL_END, true},
	[MLX5_OPCODE_RDMA_WRITE] = {SERVICE_WRITE, SEG_RADDR_END, false},
	[MLX5_OPCODE_RDMA_WRITE_IMM] = {SERVICE_WRITE, SEG_RADDR_END, true},
	[MLX5_OPCODE_RDMA_READ] = {SERVICE_READ, SEG_RADDR_END, false},
};

static uint32_t mtu_of(const struct qp *qp)
{
	return 128u << qp->attr.path_mtu;
}

static struct qp *qp_by_number(struct hca *h, uint32_t qpn, uint32_t type)
{
	struct qp *qp;

	LIST_FOREACH (qp, &h->qps, link)
		if (qp->obj.type == OBJ_QP && qp->qpn == qpn && qp->type == type)
			return qp;
	return NULL;
}

/* rdma_calc_flow_label() and rdma_flow_label_to_udp_sport() of the kernel's <rdma/ib_verbs.h>. */
static uint16_t source_port(uint32_t label, uint32_t qpn, uint32_t dest_qpn)
{
	uint64_t v = (uint64_t)qpn * dest_qpn;

	v ^= v >> 20;
	v ^= v >> 40;
	if (!label)
		label = (uint32_t)v & 0xfffff;
	return (uint16_t)(((label & 0x3fff) ^ (label & 0xfc000) >> 14) | 0xc000);
}

static bool path_of(struct hca *h, const struct qp *qp, struct path *path)
{
	struct ib_uverbs_qp_dest to;

	memcpy(&to, qp->attr.dest, sizeof(to));
	if (path_find_lid(h, qp->port, to.dlid, path))
		return true;
	if (!path_find(h, qp->port, to.sgid_index, to.dgid, path))
		return false;
	path->tclass = to.traffic_class;
	path->hop_limit = to.hop_limit;
	path->sport = source_port(to.flow_label, qp->qpn, qp->attr.dest_qpn);
	return true;
}

void rc_transmit(struct hca *h, struct qp *qp, const struct packet *pk, bool lost)
{
	uint8_t frame[PACKET_MAX];
	struct path path;
	struct qp *peer;
	uint32_t len;

	if (!path_of(h, qp, &path))
		return;
	len = roce_build(&path, pk, frame);
	if (!pk->hidden)
		wire_send(path.from, path.to, TRAFFIC_RC, lost, frame, len);
	if (lost || !path.from->up || !path.to || !path.to->up)
		return;
	peer = qp_by_number(h, pk->dest_qpn, IBV_QPT_RC);
	if (!peer || peer->port != path.to->num)
		return;
	if (pk->opcode <= READ_REQUEST)
		rc_request(h, peer, pk);
	else
		rc_response(h, peer, pk);
}

/* ---- one message ---- */

static void message_raddr(struct qp *qp, const struct send_wqe *w)
{
	struct mlx5_wqe_raddr_seg r;

	memcpy(&r, sq_seg(qp, w->index, SEG_CTRL_END), sizeof(r));
	qp->rc.va = be64toh(r.raddr);
	qp->rc.rkey = be32toh(r.rkey);
}

static bool message_begin(struct hca *h, struct qp *qp)
{
	struct rc_state *rc = &qp->rc;
	struct send_wqe w;

	while (sq_next(qp, &w)) {
		if (w.opcode == MLX5_OPCODE_NOP) {
			sq_done(h, qp, &w, 0);
			continue;
		}
		if (!services[w.opcode].service) {
			sq_fail(h, qp, &w, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
			return false;
		}
		if (services[w.opcode].first_seg == SEG_RADDR_END)
			message_raddr(qp, &w);
		rc->len = sq_length(qp, &w, services[w.opcode].first_seg);
		rc->packets = rc->len ? (rc->len + mtu_of(qp) - 1) / mtu_of(qp) : 1;
		rc->sent = rc->ever_sent = rc->acked = 0;
		rc->tries = rc->rnr_tries = 0;
		rc->wait_ns = 0;
		return true;
	}
	return false;
}

static void message_fail(struct hca *h, struct qp *qp, uint8_t syndrome)
{
	struct send_wqe w;

	qp->rc.packets = 0;
	if (sq_next(qp, &w))
		sq_fail(h, qp, &w, syndrome);
}

static void message_done(struct hca *h, struct qp *qp)
{
	struct send_wqe w;
	uint32_t len = qp->rc.len;

	qp->rc.psn = (qp->rc.psn + qp->rc.packets) & PSN_MASK;
	qp->rc.packets = 0;
	if (sq_next(qp, &w))
		sq_done(h, qp, &w, services[w.opcode].service == SERVICE_READ ? len : 0);
}

static uint8_t opcode_of(const struct send_wqe *w, bool first, bool last)
{
	static const uint8_t plain[2][2] = {{SEND_MIDDLE, SEND_LAST}, {SEND_FIRST, SEND_ONLY}};
	bool write = services[w->opcode].service == SERVICE_WRITE;
	bool imm = last && services[w->opcode].imm;

	return (uint8_t)(plain[first][last] + (write ? WRITE_FIRST - SEND_FIRST : 0) + imm);
}

/* Copies of up to PAYLOAD_MAX bytes: what a packet of this message begins there. */
static void whole_show(struct hca *h, struct qp *qp, const struct send_wqe *w, struct packet pk)
{
	uint32_t at = qp->rc.sent * mtu_of(qp), left = qp->rc.len - at;
	uint8_t payload[PAYLOAD_MAX], frame[PACKET_MAX];
	struct path path;

	pk.len = left < PAYLOAD_MAX ? left : PAYLOAD_MAX;
	pk.payload = payload;
	if (at % PAYLOAD_MAX || !path_of(h, qp, &path) ||
		!sq_gather(h, qp, w, services[w->opcode].first_seg, at, payload, pk.len))
		return;
	wire_send(path.from, path.from, TRAFFIC_RC, false, frame, roce_build(&path, &pk, frame));
}

static void packet_send(struct hca *h, struct qp *qp, const struct send_wqe *w)
{
	struct rc_state *rc = &qp->rc;
	uint32_t i = rc->sent, at = i * mtu_of(qp), left = rc->len - at;
	bool last = i + 1 == rc->packets, fresh = i >= rc->ever_sent;
	uint8_t payload[PAYLOAD_MAX];
	struct packet pk = {
		.psn = rc->psn + i,
		.dest_qpn = qp->attr.dest_qpn,
		.va = rc->va,
		.rkey = rc->rkey,
		.dma_len = rc->len,
		.imm = w->imm,
		.ack_req = last,
		.solicited = last && w->solicited,
		.payload = payload,
	};

	if (services[w->opcode].service == SERVICE_READ) {
		pk.opcode = READ_REQUEST;
		pk.va += at;
		pk.dma_len = left;
		pk.ack_req = true;
		rc->sent = rc->packets;
	} else {
		pk.opcode = opcode_of(w, i == 0, last);
		pk.len = left < mtu_of(qp) ? left : mtu_of(qp);
		if (!sq_gather(h, qp, w, services[w->opcode].first_seg, at, payload, pk.len)) {
			message_fail(h, qp, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
			return;
		}
		if (wire_shows_whole_messages() && rc->len > mtu_of(qp)) {
			whole_show(h, qp, w, pk);
			pk.hidden = true;
		}
		rc->sent++;
	}
	pk.hidden |= !fresh && wire_hides_retransmissions();
	if (rc->sent > rc->ever_sent)
		rc->ever_sent = rc->sent;
	rc->requests += fresh;
	if (rc->sent == rc->packets)
		rc->wait_ns = qp->attr.timeout
				      ? now_ns() + (UINT64_C(4096) << (qp->attr.timeout & 31))
				      : UINT64_MAX;
	/* The response arrives before this returns, and may change everything above. */
	rc_transmit(h, qp, &pk, fresh && wire_loses(rc->requests));
}

/* From the first packet on that is not acknowledged. */
static bool retransmit(struct hca *h, struct qp *qp, uint8_t *tries, uint8_t most, uint8_t syndrome)
{
	if ((*tries)++ >= most) {
		message_fail(h, qp, syndrome);
		return false;
	}
	qp->rc.sent = qp->rc.acked;
	qp->rc.wait_ns = 0;
	h->stat.retransmits++;
	return true;
}

bool rc_turn(struct hca *h, struct qp *qp)
{
	struct rc_state *rc = &qp->rc;
	struct send_wqe w;

	for (uint32_t n = 0; n < TURN_PACKETS; n++) {
		if (qp->state != IBV_QPS_RTS || (!rc->packets && !message_begin(h, qp)) ||
			!sq_next(qp, &w))
			return false;
		if (rc->rnr_wait) {
			if (now_ns() < rc->wait_ns)
				return false;
			rc->rnr_wait = false;
			rc->wait_ns = 0;
		}
		if (rc->sent == rc->packets &&
			(now_ns() < rc->wait_ns ||
				!retransmit(h, qp, &rc->tries, qp->attr.retry,
					MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR)))
			return false;
		packet_send(h, qp, &w);
	}
	return true;
}

/* ---- responses ---- */

/* Table 45 of the specification, in units of 10 us: 0 is the longest time. */
static uint64_t rnr_ns(uint8_t timer)
{
	uint64_t units = timer == 0   ? 65536
			 : timer == 1 ? 1
			 : timer & 1  ? UINT64_C(3) << (timer - 3) / 2
				      : UINT64_C(1) << timer / 2;

	return units * 10000;
}

static void refused(struct hca *h, struct qp *qp, uint8_t syndrome)
{
	struct rc_state *rc = &qp->rc;
	uint8_t forever = 0;

	if ((syndrome & ~AETH_TIMER) == AETH_RNR) {
		if (!retransmit(h, qp,
			    qp->attr.rnr_retry == RNR_FOREVER ? &forever : &rc->rnr_tries,
			    qp->attr.rnr_retry, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR))
			return;
		rc->rnr_wait = true;
		rc->wait_ns = now_ns() + rnr_ns(syndrome & AETH_TIMER);
		return;
	}
	if (syndrome == AETH_PSN_ERROR)
		retransmit(h, qp, &rc->tries, qp->attr.retry,
			MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
	else
		message_fail(h, qp,
			syndrome == AETH_ACCESS_ERROR ? MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR
			: syndrome == AETH_OPERATION_ERROR
				? MLX5_CQE_SYNDROME_REMOTE_OP_ERR
				: MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
}

void rc_response(struct hca *h, struct qp *qp, const struct packet *pk)
{
	struct rc_state *rc = &qp->rc;
	uint32_t i = (pk->psn - rc->psn) & PSN_MASK;
	struct send_wqe w;

	if (qp->state != IBV_QPS_RTS || !rc->packets || i >= rc->ever_sent || !sq_next(qp, &w))
		return;
	if (pk->opcode == ACKNOWLEDGE && pk->syndrome & 0x60) {
		rc->acked = i; /* those before it have arrived */
		refused(h, qp, pk->syndrome);
		return;
	}
	/* A READ ends with its data, not with an acknowledge. */
	if (services[w.opcode].service == SERVICE_READ) {
		if (pk->opcode == ACKNOWLEDGE)
			return;
		if (!sq_scatter(h, qp, &w, SEG_RADDR_END, i * mtu_of(qp), pk->payload, pk->len)) {
			message_fail(h, qp, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
			return;
		}
	}
	rc->acked = i + 1;
	rc->tries = 0;
	if (rc->acked == rc->packets)
		message_done(h, qp);
}
