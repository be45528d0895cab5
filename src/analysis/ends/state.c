/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes and frees the state of matching two captures. */
#include "ends.h"
#include <errno.h>
#include <stdlib.h>

/* Slots for some times as many as there are frames, but no more than `most`; a power of two. */
static uint64_t slots_for(const struct rd_ends_start *start, unsigned int times, uint64_t most)
{
	uint64_t n = most;

	while (start->frames && n / 2 >= start->frames * times)
		n /= 2;
	return n;
}

/* False if out of memory. */
static bool make_tables(struct pending *set, const struct rd_ends_start *start)
{
	bool made;

	set->head = set->tail = 1;
	set->size = slots_for(start, 1, RING);
	set->ring = calloc(set->size, sizeof(*set->ring));
	bounded_init(&set->requests, REMOVED, sizeof(bool));
	bounded_init(&set->transmissions, REMOVED, sizeof(bool));
	made = set->ring != NULL;
	for (int by = 0; by < LISTS; by++) {
		set->buckets[by] = calloc(set->size, sizeof(*set->buckets[by]));
		made &= set->buckets[by] != NULL;
	}
	return made;
}

int rd_ends_open(struct rd_ends **out, const struct rd_ends_start *start, struct rd_error *err)
{
	struct rd_ends *e = calloc(1, sizeof(*e));

	*out = e;
	if (!e)
		goto memory;
	e->known = *start;
	e->origin = start->first_ns[RD_TAP_A];
	e->start = e->origin + rd_time_move(e->origin);
	e->offset = start->offset_ns;
	e->pending[RD_TAP_B].first =
		rd_ends_time(start->first_ns[RD_TAP_B], e->origin, start->offset_ns);
	e->n_slots = (size_t)slots_for(start, 4, PATH_QP_SLOTS);
	e->qps = calloc(e->n_slots, sizeof(*e->qps));
	e->out_of_memory = !e->qps;
	for (int i = 0; i < RD_TAPS; i++)
		e->out_of_memory |= !make_tables(&e->pending[i], start);
	if (!e->out_of_memory)
		return 0;
memory:
	rd_ends_close(e);
	*out = NULL;
	return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for matching two captures");
}

void rd_ends_close(struct rd_ends *e)
{
	if (!e)
		return;
	for (size_t i = 0; e->qps && i < e->n_slots; i++)
		if (e->qps[i]) {
			free(e->qps[i]->acks.list);
			free(e->qps[i]->naks.list);
			free(e->qps[i]->rnr_naks.list);
			for (int end = 0; end < RD_TAPS; end++)
				free(e->qps[i]->rounds[end].list);
			free(e->qps[i]);
		}
	for (size_t i = 0; i < e->n_paths; i++) {
		free(e->paths[i]->d.delays[RD_TAP_A].hist);
		free(e->paths[i]->d.delays[RD_TAP_B].hist);
		free(e->paths[i]);
	}
	for (int i = 0; i < RD_TAPS; i++) {
		free(e->pending[i].ring);
		bounded_free(&e->pending[i].requests);
		bounded_free(&e->pending[i].transmissions);
		for (int by = 0; by < LISTS; by++)
			free(e->pending[i].buckets[by]);
	}
	free(e->records);
	free(e->qps);
	free(e);
}
