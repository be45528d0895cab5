/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads CQEs directly from the memory that an mlx5 device writes. */
#pragma once

#include "mmio.h"
#include "verbs_port.h"
#include <infiniband/mlx5dv.h>
#include <rdmadump/bytes.h>

/* Decides which receive buffers of a ring are posted, so that few are used under overload. */

/*
 * A ring whose buffers are used in rotation exceeds all caches. Normally all of it is posted, so
 * that it absorbs the longest burst. But if completions have been waiting for a long time, the ring
 * is always full and absorbs nothing: then only a window is posted, with the buffers that were used
 * last, which are in the cache.
 */
struct verbs_window {
	uint8_t **slot;	  /* the buffer of each work queue entry */
	uint8_t **spare;  /* buffers that are not posted; the one used last is on top */
	uint32_t n_slots; /* a power of two */
	uint32_t n, n_spare;
	uint32_t busy; /* buffers that are posted under overload; n: always all */
	uint32_t pile; /* WQEs consumed by consecutive polls that left more CQEs in the CQ */
};

/* busy: buffers posted under overload. 0 or an errno; verbs_window_free() in both cases. */
int verbs_window_init(
	struct verbs_window *w, const struct verbs_ring *ring, uint32_t n_slots, uint32_t busy);
void verbs_window_free(struct verbs_window *w);
/* Posts every buffer, in the order of the ring, the first one at entry 0. */
void verbs_window_fill(struct verbs_window *w, const struct verbs_ring *ring);

/* A poll consumed `entries`; `more`: it stopped before the CQ was empty. */
static inline void verbs_window_polled(struct verbs_window *w, uint32_t entries, bool more)
{
	w->pile = more ? w->pile + entries : 0;
}

/* The number of buffers that may be posted now. A burst is shorter than four rings of frames. */
static inline uint32_t verbs_window_limit(const struct verbs_window *w)
{
	return w->pile > 4 * w->n ? w->busy : w->n;
}

/* The buffers of the `taken` entries before `tail` can be reposted. */
static inline void verbs_window_take(struct verbs_window *w, uint32_t tail, uint32_t taken)
{
	for (; taken; taken--)
		w->spare[w->n_spare++] = w->slot[(tail - taken) & (w->n_slots - 1)];
}

/* The buffer for entry `head`, which is about to be posted. */
static inline uint8_t *verbs_window_give(struct verbs_window *w, uint32_t head)
{
	return w->slot[head & (w->n_slots - 1)] = w->spare[--w->n_spare];
}

#define CQE_BYTES     64
#define ARM_SN_MASK   3
#define CQ_INDEX_MASK 0xffffff
#define RQ_INDEX_MASK 0xffff
/* The format in op_own: data in the buffer, in the entry's 32 or 64 bytes, or a compressed array */
#define CQE_FORMAT_MASK (3 << 2)
#define CQE_COMPRESSED	(3 << 2)
#define SET_CI		0 /* words of a CQ's doorbell record */
#define ARM		1

struct verbs_mlx5 {
	const uint8_t *cqes; /* the last 64 bytes of the first CQE */
	uint32_t cqe_size, n_cqes;
	uint32_t ci; /* next CQE to read */
	volatile __be32 *cq_record, *rq_record;
	volatile __be64 *cq_doorbell;
	uint32_t cqn;
	uint32_t tail; /* next work queue entry that completes */
	uint32_t head; /* next one to post */
	uint8_t *wqes; /* data segment of the first entry */
	uint32_t wqe_bytes, n_wqes;
	struct verbs_window window;
};

static inline struct mlx5_wqe_data_seg *verbs_mlx5_wqe(const struct verbs_mlx5 *m, uint32_t i)
{
	return (void *)(m->wqes + (size_t)(i & (m->n_wqes - 1)) * m->wqe_bytes);
}

/* Posts spare buffers while the window has room, without ringing the doorbell. */
static inline void verbs_mlx5_post_spare(struct verbs_mlx5 *m)
{
	uint32_t limit = verbs_window_limit(&m->window), head = m->head;

	for (; m->window.n_spare && head - m->tail < limit; head++)
		verbs_mlx5_wqe(m, head)->addr =
			htobe64((uintptr_t)verbs_window_give(&m->window, head));
	m->head = head;
}

/* Completions that are consecutive in memory: up to the end of the CQ. */
struct verbs_mlx5_run {
	const uint8_t *first, *end;
	uint32_t size;
	uint32_t plain; /* last word of the completion of an ordinary frame, written in this pass
			   over the CQ */
};

/* Bits of the last word, as in memory, that are compared: all of op_own but the solicited event. */
#define PLAIN_MASK htobe32(0xfd)

static inline struct verbs_mlx5_run verbs_mlx5_run(const struct verbs_mlx5 *m, uint32_t max)
{
	uint32_t index = m->ci & (m->n_cqes - 1), left = m->n_cqes - index;
	uint32_t pass = !!(m->ci & m->n_cqes), n = max < left ? max : left;
	const uint8_t *first = m->cqes + (size_t)index * m->cqe_size;

	return (struct verbs_mlx5_run){
		.first = first,
		.end = first + (size_t)n * m->cqe_size,
		.size = m->cqe_size,
		.plain = htobe32(MLX5_CQE_RESP_SEND << 4 | pass),
	};
}

/* wqe_counter, signature and op_own, which the device writes last. */
static inline uint32_t verbs_mlx5_last_word(const uint8_t *cqe)
{
	return *(const volatile uint32_t *)(const void *)(cqe +
							  offsetof(struct mlx5_cqe64, wqe_counter));
}

enum verbs_mlx5_cqe { CQE_FRAME, CQE_FRAME_INLINE, CQE_OTHER, CQE_NONE };

/* Classifies a completion by its last word; nearly always by one comparison. */
static inline enum verbs_mlx5_cqe verbs_mlx5_look(uint32_t last_word, uint32_t plain)
{
	enum verbs_mlx5_cqe what = CQE_FRAME;

	if (__builtin_expect((last_word & PLAIN_MASK) != plain, 0)) {
		uint8_t op_own = (uint8_t)be32toh(last_word);

		if ((last_word ^ plain) & htobe32(MLX5_CQE_OWNER_MASK) ||
			op_own >> 4 == MLX5_CQE_INVALID)
			return CQE_NONE;
		what = op_own >> 4 == MLX5_CQE_RESP_SEND &&
				       (op_own & CQE_FORMAT_MASK) != CQE_COMPRESSED
			       ? CQE_FRAME_INLINE
			       : CQE_OTHER;
	}
	udma_from_device_barrier();
	return what;
}

/* Marks all completions before `at` as consumed; false: there were none. */
static inline bool verbs_mlx5_consumed(
	struct verbs_mlx5 *m, const struct verbs_mlx5_run *run, const uint8_t *at)
{
	m->ci += (uint32_t)(at - run->first) / run->size;
	m->cq_record[SET_CI] = htobe32(m->ci & CQ_INDEX_MASK);
	return at != run->first;
}

/* Skips the completions left in the CQ, which are stale after a reset of the queue. */
static inline void verbs_mlx5_skip(struct verbs_mlx5 *m)
{
	struct verbs_mlx5_run run;

	do
		run = verbs_mlx5_run(m, 1);
	while (verbs_mlx5_look(verbs_mlx5_last_word(run.first), run.plain) != CQE_NONE &&
		verbs_mlx5_consumed(m, &run, run.end));
}
