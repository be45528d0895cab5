/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A table with a limited number of keys: when it is full, a new key replaces the oldest one. Its
 * content depends only on the keys and their order, never on their hashes, which differ in each
 * run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bounded_key {
	uint64_t k1;
	uint32_t k2, hash;
	uint32_t next;	       /* in its bucket, or of the free ones */
	uint32_t older, newer; /* by when the keys were added */
};

/* Keys have numbers from 1; 0: none. Callers have pointers to values, valid until one is added. */
struct bounded {
	uint32_t max, size; /* most keys, bytes of a value */
	uint32_t capacity, used;
	uint32_t free, oldest, newest;
	uint32_t *buckets; /* `capacity` of them; NULL until the first key */
	struct bounded_key *keys;
	unsigned char *values;
};

/* `max` is rounded up to a power of two. */
void bounded_init(struct bounded *b, uint32_t max, uint32_t size);
void bounded_free(struct bounded *b);
/* The value of a key; NULL: absent. */
void *bounded_find(const struct bounded *b, uint64_t k1, uint32_t k2);
/*
 * The same, but adds the key if it is absent (*made). Its value is then that of the key that it
 * replaced, or zero. NULL: out of memory.
 */
void *bounded_take(struct bounded *b, uint64_t k1, uint32_t k2, bool *made);
/* Of the key with this value. */
void bounded_remove(struct bounded *b, void *value);
/* The value of the key that was added first; NULL: there is none. */
void *bounded_oldest(const struct bounded *b);
/* That of the one added after the key with this value; NULL: none was. */
void *bounded_newer(const struct bounded *b, const void *value);

/* Whether a new key would replace another one. */
static inline bool bounded_is_full(const struct bounded *b)
{
	return !b->free && b->used == b->max;
}
