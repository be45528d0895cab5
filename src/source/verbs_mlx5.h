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

/* The next CQE if the device has written it: the ownership bit flips with every turn of the ring.
 */
static inline const struct mlx5_cqe64 *verbs_mlx5_next(const struct verbs_mlx5 *m)
{
	const struct mlx5_cqe64 *cqe =
		(const void *)(m->cqes + (size_t)(m->ci & (m->n_cqes - 1)) * m->cqe_size);
	uint8_t op_own = *(const volatile uint8_t *)&cqe->op_own;

	if ((op_own & MLX5_CQE_OWNER_MASK) != !!(m->ci & m->n_cqes) ||
		op_own >> 4 == MLX5_CQE_INVALID)
		return NULL;
	verbs_mlx5_read_barrier();
	return cqe;
}

static inline void verbs_mlx5_consumed(struct verbs_mlx5 *m)
{
	m->cq_record[SET_CI] = htobe32(m->ci & CQ_INDEX_MASK);
}

/* Small frames may lie in the CQE instead of the buffer (IBV "scatter to CQE"). */
static inline bool verbs_mlx5_is_inline(const struct mlx5_cqe64 *cqe)
{
	return cqe->op_own & (MLX5_INLINE_SCATTER_32 | MLX5_INLINE_SCATTER_64);
}

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
