/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The newest identities of what was removed, exactly: two open hashes, the newer one fills up. */
#include "ends.h"
#include <stdlib.h>
#include <string.h>

bool newest_make(struct newest *set, uint64_t slots)
{
	set->slots = slots;
	set->now = calloc(slots, sizeof(*set->now));
	set->before = calloc(slots, sizeof(*set->before));
	return set->now && set->before;
}

void newest_free(struct newest *set)
{
	free(set->now);
	free(set->before);
}

/* Where it is, or where it would be added. */
static struct removed *place_of(const struct newest *set, struct removed *in, uint64_t id)
{
	uint64_t i = id;

	while (in[i & (set->slots - 1)].id && in[i & (set->slots - 1)].id != id)
		i++;
	return &in[i & (set->slots - 1)];
}

const struct removed *newest_find(const struct newest *set, uint64_t id)
{
	const struct removed *x = place_of(set, set->now, id);

	return x->id ? x : place_of(set, set->before, id);
}

void newest_keep(struct newest *set, const struct removed *x)
{
	struct removed *at = place_of(set, set->now, x->id);

	if (!at->id && set->used == set->slots / 2) {
		at = set->before;
		set->before = set->now;
		set->now = memset(at, 0, set->slots * sizeof(*at));
		set->used = 0;
		at = place_of(set, set->now, x->id);
	}
	set->used += !at->id;
	*at = *x;
}
