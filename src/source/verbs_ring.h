/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receive ring: buffers in one memory region, and the work requests that post them. */
#ifndef RDMADUMP_SOURCE_VERBS_RING_H
#define RDMADUMP_SOURCE_VERBS_RING_H

#include <infiniband/verbs.h>
#include <rdmadump/error.h>
#include <stddef.h>
#include <stdint.h>

struct verbs_ring {
	uint8_t *memory;
	size_t memory_len;
	struct ibv_mr *mr;
	uint32_t buffer_size; /* bytes of one buffer */
	unsigned int n;
	struct ibv_recv_wr *wr; /* wr[i] posts buffer i; wr_id is i */
	struct ibv_sge *sge;
	struct ibv_recv_wr *first, **tail; /* list of taken buffers, to be posted again */
};

/* numa_node: where its memory should be; -1: anywhere. */
int verbs_ring_init(struct verbs_ring *ring, struct ibv_pd *pd, unsigned int n,
	uint32_t buffer_size, int numa_node, struct rd_error *err);
void verbs_ring_fini(struct verbs_ring *ring);
/*
 * Frees the ring and moves *larger to its place; NULL: does nothing. No queue may receive into it.
 */
void verbs_ring_exchange(struct verbs_ring *ring, struct verbs_ring *larger);

/*
 * Posts all buffers to the work queue, or without one to the QP; the queue must be empty. Returns 0
 * or an errno.
 */
int verbs_ring_fill(struct verbs_ring *ring, struct ibv_qp *qp, struct ibv_wq *wq);

static inline uint8_t *verbs_ring_buffer(const struct verbs_ring *ring, uint64_t i)
{
	return ring->memory + i * ring->buffer_size;
}

/* Marks buffer i to be posted by the next verbs_ring_post(). */
static inline void verbs_ring_take(struct verbs_ring *ring, uint64_t i)
{
	*ring->tail = &ring->wr[i];
	ring->tail = &ring->wr[i].next;
}

/* Posts the marked buffers in one list. Returns 0 or an errno. */
static inline int verbs_ring_post(struct verbs_ring *ring, struct ibv_qp *qp, struct ibv_wq *wq)
{
	struct ibv_recv_wr *first = ring->first, *bad;

	if (ring->tail == &ring->first)
		return 0;
	*ring->tail = NULL;
	ring->tail = &ring->first;
	return wq ? ibv_post_wq_recv(wq, first, &bad) : ibv_post_recv(qp, first, &bad);
}

#endif
