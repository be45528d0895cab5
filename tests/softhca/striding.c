/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Striding receive queues: a work queue entry is one buffer of equal strides, and a frame takes as
 * many as it needs, from the next free one on. A frame does not cross into the next entry: a filler
 * completion closes the one that is too short for it (struct mlx5_mprq_wqe and mlx5_cqe64 of
 * <infiniband/mlx5dv.h>).
 */
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "softhca.h"

enum { FILLER = 1u << 31, CONSUMED_SHIFT = 16, NEXT_SEG = 1, EVERY = 16, FCS = 4 };

static uint32_t strides_of(const struct striding *s, uint32_t len)
{
	uint32_t bytes = len + (s->two_byte_shift ? 2 : 0);
	uint32_t n = (bytes + (1u << s->log_bytes) - 1) >> s->log_bytes;

	return n ? n : 1;
}

static void entry_consumed(struct qp *rq, uint32_t strides)
{
	rq->stride.at += strides;
	if (rq->stride.at < 1u << rq->stride.log_strides)
		return;
	rq->stride.at = 0;
	rq->rq_head++;
	rq->rq_ready--;
}

uint32_t rq_byte_cnt(const struct qp *rq, uint32_t len)
{
	const struct striding *s = &rq->stride;

	return s->on ? strides_of(s, len) << CONSUMED_SHIFT | (len & 0xffff) : len;
}

void rq_consume(struct qp *rq, uint32_t byte_cnt)
{
	if (rq->stride.on) {
		entry_consumed(rq, byte_cnt >> CONSUMED_SHIFT);
		return;
	}
	rq->rq_head++;
	rq->rq_ready--;
}

bool striding_loses(const struct hca *h, struct qp *rq)
{
	return h->conf->striding == STRIDING_LOSSY && ++rq->stride.frames % EVERY == 0;
}

const struct frame *striding_shape(
	const struct hca *h, struct qp *rq, const struct frame *f, struct frame *other, uint8_t *to)
{
	bool change = h->conf->striding == STRIDING_CHANGES && ++rq->stride.frames % EVERY == 0;

	if (!rq->stride.on || f->len > STRIDING_FRAME_MAX - FCS ||
		(!change && h->conf->striding != STRIDING_LONGER))
		return f;
	memcpy(to, f->data, f->len);
	memset(to + f->len, 0, FCS);
	*other = *f;
	other->data = to;
	if (change)
		to[f->len - 1] ^= 0x55;
	if (h->conf->striding == STRIDING_LONGER)
		other->len += FCS;
	return other;
}

bool striding_has_room(struct hca *h, struct qp *rq, uint32_t len)
{
	struct striding *s = &rq->stride;
	uint32_t all = 1u << s->log_strides, left = all - s->at;

	if (strides_of(s, len) <= left || strides_of(s, len) > all)
		return true;
	if (!cq_has_room(rq->recv_cq)) {
		cq_overrun(h, rq->recv_cq);
		return false;
	}
	cqe_write_strides(
		h, rq->recv_cq, rq, (uint32_t)FILLER | left << CONSUMED_SHIFT, (uint16_t)s->at, 0);
	entry_consumed(rq, left);
	return rq->rq_ready || qp_posted(rq);
}

uint8_t striding_deliver(struct hca *h, struct qp *rq, const struct frame *f, uint64_t stamp)
{
	struct striding *s = &rq->stride;
	const struct mlx5_wqe_data_seg *seg = qp_wqe(rq, rq->rq_head) + NEXT_SEG;
	uint32_t n = strides_of(s, f->len), offset = s->at << s->log_bytes;
	uint64_t addr = be64toh(seg->addr) + offset + (s->two_byte_shift ? 2 : 0);
	struct mr *mr = mr_find(h, rq, be32toh(seg->lkey));

	if (n > 1u << s->log_strides)
		return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
	if (!mr || offset + (n << s->log_bytes) > be32toh(seg->byte_count) || addr < mr->iova ||
		addr - mr->iova + f->len > mr->length)
		return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
	memcpy((void *)(uintptr_t)(mr->start + (addr - mr->iova)), f->data, f->len);
	cqe_write_strides(h, rq->recv_cq, rq, n << CONSUMED_SHIFT | f->len, (uint16_t)s->at, stamp);
	entry_consumed(rq, n);
	return 0;
}
