/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Completions where an mlx5 device writes them: what its two ways to receive share. */
#ifndef RDMADUMP_SOURCE_VERBS_MLX5_H
#define RDMADUMP_SOURCE_VERBS_MLX5_H

#include "verbs.h"
#include <infiniband/mlx5dv.h>
#include <rdmadump/bytes.h>
#include <stdatomic.h>
#include <string.h>

#define CQE_BYTES     64
#define ARM_SN_MASK   3
#define CQ_INDEX_MASK 0xffffff
#define RQ_INDEX_MASK 0xffff
#define SET_CI	      0 /* words of a CQ's doorbell record */
#define ARM	      1

struct verbs_mlx5 {
	const uint8_t *cqes; /* the last 64 bytes of the first CQE */
	uint32_t cqe_size, n_cqes;
	uint32_t ci; /* next CQE to look at */
	volatile __be32 *cq_record, *rq_record;
	volatile __be64 *cq_doorbell;
	uint32_t cqn;
	uint32_t tail; /* next work queue entry that completes */
	uint32_t head; /* next one to be posted */

	/* Of a striding queue, whose entries wander over the buffers. */
	uint8_t *wqes;
	uint32_t wqe_bytes, n_wqes;
	uint32_t consumed;    /* strides of the buffer that is being filled */
	uint8_t *buffer;      /* it */
	uint32_t next_buffer; /* to be posted */
};

/* What the device wrote before the ownership bit is read after it. */
static inline void verbs_mlx5_read_barrier(void)
{
#ifdef __aarch64__
	asm volatile("dmb oshld" ::: "memory");
#else
	atomic_thread_fence(memory_order_acquire);
#endif
}

/* What we wrote before is seen by the device before a doorbell record is. */
static inline void verbs_mlx5_write_barrier(void)
{
#ifdef __aarch64__
	asm volatile("dmb oshst" ::: "memory");
#else
	atomic_thread_fence(memory_order_release);
#endif
}

/* What a batch goes through the CQ with; the ownership bit flips with every turn of the ring. */
struct verbs_mlx5_cursor {
	const uint8_t *at, *first, *behind;
	uint32_t size, ci;
	uint8_t plain; /* op_own of a frame in its buffer, written in this turn */
};

/* All of op_own but the solicited event. */
#define PLAIN_MASK 0xfd

static inline struct verbs_mlx5_cursor verbs_mlx5_begin(const struct verbs_mlx5 *m)
{
	uint32_t turn = !!(m->ci & m->n_cqes);

	return (struct verbs_mlx5_cursor){
		.at = m->cqes + (size_t)(m->ci & (m->n_cqes - 1)) * m->cqe_size,
		.first = m->cqes,
		.behind = m->cqes + (size_t)m->n_cqes * m->cqe_size,
		.size = m->cqe_size,
		.ci = m->ci,
		.plain = (uint8_t)(MLX5_CQE_RESP_SEND << 4 | turn),
	};
}

static inline void verbs_mlx5_step(struct verbs_mlx5_cursor *c)
{
	c->ci++;
	c->at += c->size;
	if (__builtin_expect(c->at == c->behind, 0)) {
		c->at = c->first;
		c->plain ^= MLX5_CQE_OWNER_MASK;
	}
}

enum verbs_mlx5_cqe { CQE_FRAME, CQE_FRAME_INLINE, CQE_OTHER, CQE_NONE };

/* What the device has written next; nearly always one comparison. */
static inline enum verbs_mlx5_cqe verbs_mlx5_look(const struct verbs_mlx5_cursor *c)
{
	uint8_t op_own = *(const volatile uint8_t *)(c->at + offsetof(struct mlx5_cqe64, op_own));
	enum verbs_mlx5_cqe what = CQE_FRAME;

	if (__builtin_expect((op_own & PLAIN_MASK) != c->plain, 0)) {
		if ((op_own ^ c->plain) & MLX5_CQE_OWNER_MASK || op_own >> 4 == MLX5_CQE_INVALID)
			return CQE_NONE;
		what = op_own >> 4 == MLX5_CQE_RESP_SEND ? CQE_FRAME_INLINE : CQE_OTHER;
	}
	verbs_mlx5_read_barrier();
	return what;
}

static inline void verbs_mlx5_consumed(struct verbs_mlx5 *m, uint32_t ci)
{
	m->ci = ci;
	m->cq_record[SET_CI] = htobe32(ci & CQ_INDEX_MASK);
}

/* Passes over what the CQ still has: of no use when the queue was reset. */
static inline void verbs_mlx5_skip(struct verbs_mlx5 *m)
{
	struct verbs_mlx5_cursor c = verbs_mlx5_begin(m);

	while (verbs_mlx5_look(&c) != CQE_NONE)
		verbs_mlx5_step(&c);
	verbs_mlx5_consumed(m, c.ci);
}

/* Small frames may lie in the CQE instead of the buffer (IBV "scatter to CQE"). */
static inline void verbs_mlx5_copy_inline(uint8_t *to, const struct mlx5_cqe64 *cqe, uint32_t len)
{
	bool behind = cqe->op_own & MLX5_INLINE_SCATTER_64;
	const uint8_t *from = (const uint8_t *)cqe - (behind ? CQE_BYTES : 0);
	uint32_t most = behind ? 64 : 32;

	memcpy(to, from, len < most ? len : most);
}

void verbs_mlx5_set_cq(struct verbs_mlx5 *m, const struct mlx5dv_cq *cq);
/* A completion that is no frame. */
void verbs_mlx5_take_error(struct verbs *v, const struct mlx5_cqe64 *cqe);
int verbs_mlx5_arm(struct verbs *v);

#endif
