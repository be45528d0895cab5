/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of waiting packets (struct pending): of the same bytes, and of the same packet. */
#pragma once

#include "ends.h"

#define WALK	 64   /* bounds the cost of a capture of identical packets */
#define WALK_IDS 4096 /* the same, of one packet that its IP id tells from all near ones */

static inline struct entry *entry_at(struct pending *set, uint64_t at)
{
	return &set->ring[at & (set->size - 1)];
}

/*
 * Of a list BY_BYTES. Possibly in only one capture, a snap length may cut off the ICRC, or the
 * packet may be in a tunnel.
 */
static inline bool same_bytes(const struct entry *x, const struct entry *y)
{
	return (!x->whole || !y->whole || x->icrc == y->icrc) &&
	       (!x->network || !y->network || x->network == y->network);
}

/* Also with the same IP id. */
static inline bool same_packet(const struct entry *x, const struct entry *y)
{
	return same_bytes(x, y) && x->ip_id == y->ip_id;
}

/* The link to the oldest entry of an identity; for a new identity, the link to be set. */
static inline uint64_t *link_of(struct pending *set, enum list by, uint64_t id)
{
	uint64_t *link = &set->buckets[by][id & (set->size - 1)];

	while (*link && entry_at(set, *link)->id[by] != id)
		link = &entry_at(set, *link)->in[by].next;
	return link;
}

static inline struct entry *oldest(struct pending *set, enum list by, const struct entry *like)
{
	uint64_t number = *link_of(set, by, like->id[by]);

	return number ? entry_at(set, number) : NULL;
}

/* The next one of the list BY_BYTES. */
static inline struct entry *next_of(struct pending *set, const struct entry *en)
{
	return en->in[BY_BYTES].same ? entry_at(set, en->in[BY_BYTES].same) : NULL;
}

/* The oldest one of the list BY_BYTES that has no partner yet; NULL: there is none. */
static inline struct entry *oldest_open(struct pending *set, const struct entry *like)
{
	struct entry *first = oldest(set, BY_BYTES, like), *at;

	if (!first)
		return NULL;
	for (at = entry_at(set, first->open); at->state != ENTRY_OPEN; at = next_of(set, at)) {
		if (!at->in[BY_BYTES].same)
			return NULL;
		first->open = at->in[BY_BYTES].same;
	}
	return at;
}

/* Of the list BY_BYTES, the one that had a partner last; NULL: none. */
static inline struct entry *last_paired(struct pending *set, const struct entry *like)
{
	struct entry *first = oldest(set, BY_BYTES, like);

	return first && first->paired > set->tail ? entry_at(set, first->paired) : NULL;
}

static inline void note_paired(struct pending *set, const struct entry *en)
{
	const uint64_t place = (uint64_t)(en - set->ring);

	oldest(set, BY_BYTES, en)->paired = set->tail + ((place - set->tail) & (set->size - 1));
}

/* From `at` on, the first one with the bytes of `like`. */
static inline struct entry *first_like(
	struct pending *set, struct entry *at, const struct entry *like)
{
	for (unsigned int i = 0; at && i < WALK; at = next_of(set, at), i++)
		if (same_bytes(at, like))
			return at;
	return NULL;
}

static inline struct entry *oldest_like(struct pending *set, const struct entry *like)
{
	return first_like(set, oldest(set, BY_BYTES, like), like);
}

/* The next newer one of the same bytes. */
static inline struct entry *newer(struct pending *set, const struct entry *en)
{
	return first_like(set, next_of(set, en), en);
}

static inline void link_newest(struct pending *set, enum list by, struct entry *en, uint64_t number)
{
	uint64_t *link = link_of(set, by, en->id[by]);

	en->in[by] = (struct listed){0};
	if (*link) {
		struct entry *first = entry_at(set, *link);

		entry_at(set, first->in[by].last)->in[by].same = number;
		first->in[by].last = number;
	} else {
		en->in[by].last = number;
		*link = number;
	}
}

static inline struct entry *push(struct pending *set, const struct entry *en)
{
	struct entry *now = entry_at(set, set->head);

	*now = *en;
	now->open = now->paired = set->head;
	link_newest(set, BY_BYTES, now, set->head);
	link_newest(set, BY_PACKET, now, set->head);
	set->head++;
	return now;
}

/* Unlinks the oldest entry of all, which is the oldest one of its lists; returns the next one. */
static inline struct entry *unlink_from(struct pending *set, enum list by, const struct entry *en)
{
	uint64_t *link = link_of(set, by, en->id[by]);
	struct entry *heir = en->in[by].same ? entry_at(set, en->in[by].same) : NULL;

	*link = heir ? en->in[by].same : en->in[by].next;
	if (heir) {
		heir->in[by].next = en->in[by].next;
		heir->in[by].last = en->in[by].last;
	}
	return heir;
}
