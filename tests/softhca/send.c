/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The send queue, whose entries <infiniband/mlx5dv.h> lays out, and what RAW_PACKET queue pairs
 * send: whole frames, given to the flows of the same port.
 */
#include "transport.h"

enum { FRAME_MAX = 16384, SEG = 16, INLINE_HEAD = 4 };

/* Segments wrap around the ring's end, so each is located separately. */
const uint8_t *sq_seg(const struct qp *qp, uint16_t wqe, uint32_t seg)
{
	uint32_t bytes = qp->sq_count * MLX5_SEND_WQE_BB;

	return qp->sq +
	       ((uint32_t)(wqe & (qp->sq_count - 1)) * MLX5_SEND_WQE_BB + seg * SEG) % bytes;
}

bool sq_next(const struct qp *qp, struct send_wqe *w)
{
	uint32_t db = be32toh(__atomic_load_n(&qp->db[MLX5_SND_DBR], __ATOMIC_ACQUIRE));
	const struct mlx5_wqe_ctrl_seg *ctrl;

	if ((uint16_t)db == qp->sq_head)
		return false;
	ctrl = (const void *)sq_seg(qp, qp->sq_head, 0);
	*w = (struct send_wqe){
		.index = qp->sq_head,
		.opcode = be32toh(ctrl->opmod_idx_opcode) & 0xff,
		.nsegs = be32toh(ctrl->qpn_ds) & 0x3f,
		.imm = be32toh(ctrl->imm),
		.signaled = ctrl->fm_ce_se & MLX5_WQE_CTRL_CQ_UPDATE,
		.solicited = ctrl->fm_ce_se & MLX5_WQE_CTRL_SOLICITED,
	};
	if (!w->nsegs)
		w->nsegs = 1;
	w->next = (uint16_t)(w->index + (w->nsegs + 3) / 4);
	return true;
}

/* A piece of an entry's data; in the entry itself if there is no key. */
struct piece {
	const uint8_t *inlined;
	uint64_t addr;
	uint32_t lkey, len;
};

struct pieces {
	const struct qp *qp;
	const struct send_wqe *w;
	uint32_t seg, inline_left, at; /* at: within an inline segment */
};

static bool piece_next(struct pieces *i, struct piece *piece)
{
	const struct mlx5_wqe_data_seg *d;
	uint32_t head;

	if (!i->inline_left) {
		if (i->seg >= i->w->nsegs)
			return false;
		d = (const void *)sq_seg(i->qp, i->w->index, i->seg);
		head = be32toh(d->byte_count);
		if (!(head & MLX5_INLINE_SEG)) {
			*piece = (struct piece){NULL, be64toh(d->addr), be32toh(d->lkey), head};
			i->seg++;
			return true;
		}
		i->inline_left = head & ~(uint32_t)MLX5_INLINE_SEG;
		i->at = INLINE_HEAD;
	}
	*piece = (struct piece){.inlined = sq_seg(i->qp, i->w->index, i->seg) + i->at,
		.len = SEG - i->at < i->inline_left ? SEG - i->at : i->inline_left};
	i->inline_left -= piece->len;
	i->at = 0;
	i->seg++;
	return true;
}

uint32_t sq_length(const struct qp *qp, const struct send_wqe *w, uint32_t seg)
{
	struct pieces i = {.qp = qp, .w = w, .seg = seg};
	struct piece piece;
	uint32_t len = 0;

	while (piece_next(&i, &piece))
		len += piece.len;
	return len;
}

static uint8_t *piece_memory(
	struct hca *h, const struct qp *qp, const struct piece *piece, uint32_t access)
{
	uint32_t key = piece->lkey;
	const struct mr *mr = key >> 8 < h->nkeys && h->keys ? h->keys[key >> 8] : NULL;

	if (!mr || mr->lkey != key || mr->pd != qp->pd || (mr->access & access) != access ||
		piece->addr < mr->iova || piece->addr - mr->iova + piece->len > mr->length)
		return NULL;
	return (uint8_t *)(uintptr_t)(mr->start + (piece->addr - mr->iova));
}

/* One direction or the other: out or in. */
static bool sq_copy(struct hca *h, struct pieces i, uint32_t offset, uint8_t *out,
	const uint8_t *in, uint32_t len)
{
	struct piece piece;

	while (len && piece_next(&i, &piece)) {
		uint32_t skip = offset < piece.len ? offset : piece.len;
		uint32_t n = piece.len - skip < len ? piece.len - skip : len;
		uint8_t *mem;

		offset -= skip;
		if (!n)
			continue;
		if (piece.inlined && out) {
			memcpy(out, piece.inlined + skip, n);
			out += n;
			len -= n;
			continue;
		}
		mem = piece_memory(h, i.qp, &piece, in ? IBV_ACCESS_LOCAL_WRITE : 0);
		if (piece.inlined || !mem)
			return false;
		if (out) {
			memcpy(out, mem + skip, n);
			out += n;
		} else {
			memcpy(mem + skip, in, n);
			in += n;
		}
		len -= n;
	}
	return !len;
}

bool sq_gather(struct hca *h, const struct qp *qp, const struct send_wqe *w, uint32_t seg,
	uint32_t offset, uint8_t *out, uint32_t len)
{
	return sq_copy(h, (struct pieces){.qp = qp, .w = w, .seg = seg}, offset, out, NULL, len);
}

bool sq_scatter(struct hca *h, const struct qp *qp, const struct send_wqe *w, uint32_t seg,
	uint32_t offset, const uint8_t *in, uint32_t len)
{
	return sq_copy(h, (struct pieces){.qp = qp, .w = w, .seg = seg}, offset, NULL, in, len);
}

void sq_done(struct hca *h, struct qp *qp, const struct send_wqe *w, uint32_t byte_cnt)
{
	qp->sq_head = w->next;
	if (w->signaled)
		cqe_write_send(h, qp, w->index, w->opcode, byte_cnt, 0);
}

void sq_fail(struct hca *h, struct qp *qp, const struct send_wqe *w, uint8_t syndrome)
{
	qp->sq_head = w->next;
	cqe_write_send(h, qp, w->index, w->opcode, 0, syndrome);
	qp_to_error(h, qp);
}

/* ---- RAW_PACKET ---- */

/* The Ethernet segment holds the frame's first two inline bytes, those behind it the rest. */
static bool raw_head(
	const struct qp *qp, const struct send_wqe *w, uint8_t *frame, uint32_t *len, uint32_t *seg)
{
	struct mlx5_wqe_eth_seg eth;
	uint32_t left, n;

	memcpy(&eth, sq_seg(qp, w->index, 1), SEG);
	left = be16toh(eth.inline_hdr_sz);
	*len = left;
	*seg = 2;
	if (left > FRAME_MAX)
		return false;
	n = left < 2 ? left : 2;
	memcpy(frame, eth.inline_hdr_start, n);
	for (left -= n, frame += n; left; left -= n, frame += n, ++*seg) {
		n = left < SEG ? left : SEG;
		memcpy(frame, sq_seg(qp, w->index, *seg), n);
	}
	return true;
}

/* What is sent to the port's own address does not leave the adapter. */
static void raw_transmit(struct port *p, const uint8_t *frame, uint32_t len)
{
	wire_send(p, p, TRAFFIC_RAW, false, frame, len);
}

static void raw_send(struct hca *h, struct qp *qp, const struct send_wqe *w)
{
	uint8_t frame[FRAME_MAX];
	uint32_t head, seg, len;

	if (w->opcode == MLX5_OPCODE_SEND) {
		if (!raw_head(qp, w, frame, &head, &seg) ||
			(len = sq_length(qp, w, seg)) > FRAME_MAX - head ||
			!sq_gather(h, qp, w, seg, 0, frame + head, len)) {
			sq_fail(h, qp, w, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
			return;
		}
		if (qp->port)
			raw_transmit(&h->port[qp->port - 1], frame, head + len);
	}
	sq_done(h, qp, w, 0);
}

static bool raw_turn(struct hca *h, struct qp *qp)
{
	uint32_t limit = qp->sq_count;
	struct send_wqe w;

	for (; limit && qp->state == IBV_QPS_RTS && sq_next(qp, &w); limit--)
		raw_send(h, qp, &w);
	return false;
}

/* ---- all types ---- */

static void sq_flush(struct hca *h, struct qp *qp)
{
	uint32_t limit = qp->sq_count;
	struct send_wqe w;

	for (; limit && !qp->send_cq->dead && sq_next(qp, &w); limit--) {
		qp->sq_head = w.next;
		cqe_write_send(h, qp, w.index, w.opcode, 0, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
		h->stat.flushed++;
	}
}

bool qp_send(struct hca *h, struct qp *qp)
{
	if (!qp->sq_count)
		return false;
	if (qp->state == IBV_QPS_ERR)
		sq_flush(h, qp);
	if (qp->state != IBV_QPS_RTS)
		return false;
	switch (qp->type) {
	case IBV_QPT_RAW_PACKET:
		return raw_turn(h, qp);
	case IBV_QPT_RC:
		return rc_turn(h, qp);
	case IBV_QPT_UD:
		return ud_turn(h, qp);
	default:
		return false;
	}
}
