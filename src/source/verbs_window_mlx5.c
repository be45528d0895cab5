/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decides which receive buffers of a ring are posted, so that few are used in overload. */
#include "verbs_mlx5.h"
#include <errno.h>
#include <stdlib.h>

int verbs_window_init(
	struct verbs_window *w, const struct verbs_ring *ring, uint32_t n_slots, uint32_t busy)
{
	verbs_window_free(w);
	*w = (struct verbs_window){
		.slot = calloc(n_slots, sizeof(*w->slot)),
		.spare = calloc(ring->n, sizeof(*w->spare)),
		.n_slots = n_slots,
		.n = ring->n,
		.busy = busy < ring->n ? busy : ring->n,
	};
	if (!w->slot || !w->spare)
		return ENOMEM;
	verbs_window_fill(w, ring);
	return 0;
}

void verbs_window_free(struct verbs_window *w)
{
	free(w->slot);
	free(w->spare);
	*w = (struct verbs_window){0};
}

void verbs_window_fill(struct verbs_window *w, const struct verbs_ring *ring)
{
	for (uint32_t i = 0; i < w->n; i++)
		w->slot[i] = verbs_ring_buffer(ring, i);
	w->n_spare = 0;
	w->pile = 0;
}
