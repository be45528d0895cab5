/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides which receive buffers of a ring are posted, so that only a few are used under overload.
 */
#ifndef RDMADUMP_SOURCE_VERBS_WINDOW_MLX5_H
#define RDMADUMP_SOURCE_VERBS_WINDOW_MLX5_H

#include "verbs_ring.h"
#include <stdbool.h>
#include <stdint.h>

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

/*
 * busy: buffers posted under overload. Returns 0 or an errno; call verbs_window_free() in both
 * cases.
 */
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

#endif
