/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What RAW_PACKET queue pairs send: gathered from the send queue, whose entries
 * <infiniband/mlx5dv.h> lays out, and given to the flows of the same port, a sniffer among them.
 * Other types send nothing.
 */
#include <infiniband/mlx5dv.h>

#include "softhca.h"

enum { FRAME_MAX = 16384, SEG = 16 };

struct gather {
	struct hca *h;
	struct qp *qp;
	uint8_t frame[FRAME_MAX];
	uint32_t len;
};

static bool gather_add(struct gather *g, const void *p, uint32_t n)
{
	if (g->len + n > FRAME_MAX)
		return false;
	memcpy(g->frame + g->len, p, n);
	g->len += n;
	return true;
}

static bool gather_key(struct gather *g, const struct mlx5_wqe_data_seg *d)
{
	uint32_t key = be32toh(d->lkey), n = be32toh(d->byte_count);
	uint64_t addr = be64toh(d->addr);
	struct mr *mr = key >> 8 < g->h->nkeys && g->h->keys ? g->h->keys[key >> 8] : NULL;

	if (!mr || mr->lkey != key || mr->pd != g->qp->pd || addr < mr->iova ||
		addr - mr->iova + n > mr->length)
		return false;
	return gather_add(g, (const void *)(uintptr_t)(mr->start + (addr - mr->iova)), n);
}

/* Segments wrap around the ring's end, so each is located separately; the first two are control and
 * Ethernet. */
static const uint8_t *sq_seg(const struct qp *qp, uint16_t wqe, uint32_t seg)
{
	uint32_t bytes = qp->sq_count * MLX5_SEND_WQE_BB;

	return qp->sq +
	       ((uint32_t)(wqe & (qp->sq_count - 1)) * MLX5_SEND_WQE_BB + seg * SEG) % bytes;
}

static bool gather_inline(struct gather *g, uint16_t wqe, uint32_t *seg, uint32_t head)
{
	uint32_t n = head & ~MLX5_INLINE_SEG, at = 4;

	for (; n; at = 0, ++*seg) {
		uint32_t part = SEG - at < n ? SEG - at : n;

		if (!gather_add(g, sq_seg(g->qp, wqe, *seg) + at, part))
			return false;
		n -= part;
	}
	return true;
}

static bool gather_wqe(struct gather *g, uint16_t wqe, uint32_t nsegs)
{
	struct mlx5_wqe_eth_seg eth;
	uint32_t seg = 2, inline_len;

	memcpy(&eth, sq_seg(g->qp, wqe, 1), SEG);
	inline_len = be16toh(eth.inline_hdr_sz);
	if (inline_len) {
		if (!gather_add(g, eth.inline_hdr_start, inline_len < 2 ? inline_len : 2))
			return false;
		for (inline_len -= inline_len < 2 ? inline_len : 2; inline_len; seg++) {
			uint32_t part = inline_len < SEG ? inline_len : SEG;

			if (!gather_add(g, sq_seg(g->qp, wqe, seg), part))
				return false;
			inline_len -= part;
		}
	}
	while (seg < nsegs) {
		const struct mlx5_wqe_data_seg *d =
			(const struct mlx5_wqe_data_seg *)(const void *)sq_seg(g->qp, wqe, seg);
		uint32_t head = be32toh(d->byte_count);

		if (head & MLX5_INLINE_SEG) {
			if (!gather_inline(g, wqe, &seg, head))
				return false;
			continue;
		}
		if (!gather_key(g, d))
			return false;
		seg++;
	}
	return true;
}

static void send_one(struct hca *h, struct qp *qp)
{
	const struct mlx5_wqe_ctrl_seg *ctrl = (const void *)sq_seg(qp, qp->sq_head, 0);
	uint32_t nsegs = be32toh(ctrl->qpn_ds) & 0x3f;
	uint32_t opcode = be32toh(ctrl->opmod_idx_opcode) & 0xff;
	struct gather g = {.h = h, .qp = qp, .len = 0};
	uint16_t wqe = qp->sq_head;

	if (!nsegs)
		nsegs = 1;
	qp->sq_head = (uint16_t)(wqe + (nsegs + 3) / 4);
	if (opcode == MLX5_OPCODE_SEND) {
		struct frame f = {.data = g.frame};

		if (!gather_wqe(&g, wqe, nsegs)) {
			cqe_write_send(h, qp, wqe, opcode, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
			qp_to_error(h, qp);
			return;
		}
		f.len = g.len;
		if (qp->port && h->port[qp->port - 1].up)
			frame_distribute(h, &h->port[qp->port - 1], &f, NULL);
	}
	if (ctrl->fm_ce_se & MLX5_WQE_CTRL_CQ_UPDATE)
		cqe_write_send(h, qp, wqe, opcode, 0);
}

void qp_send(struct hca *h, struct qp *qp)
{
	uint32_t limit = qp->sq_count;

	if (qp->type != IBV_QPT_RAW_PACKET || qp->state != IBV_QPS_RTS || !qp->sq_count)
		return;
	for (; limit; limit--) {
		uint32_t db = be32toh(__atomic_load_n(&qp->db[MLX5_SND_DBR], __ATOMIC_ACQUIRE));

		if ((uint16_t)db == qp->sq_head || qp->state != IBV_QPS_RTS)
			return;
		send_one(h, qp);
	}
}
