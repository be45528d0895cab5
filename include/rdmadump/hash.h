/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hash function of tables whose keys come from captures. Its key is random for each process, so
 * that a capture with colliding keys cannot be crafted.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct rd_hash {
	uint64_t v0, v1, v2, v3;
};

extern atomic_bool rd_hash_is_ready;
extern struct rd_hash rd_hash_start; /* valid if that is true */

/* Chooses the key. From any thread; further calls do nothing. */
void rd_hash_prepare(void);

static inline uint64_t rd_hash_rotate(uint64_t x, unsigned int n)
{
	return x << n | x >> (64 - n);
}

static inline void rd_hash_round(struct rd_hash *h)
{
	h->v0 += h->v1;
	h->v1 = rd_hash_rotate(h->v1, 13) ^ h->v0;
	h->v0 = rd_hash_rotate(h->v0, 32);
	h->v2 += h->v3;
	h->v3 = rd_hash_rotate(h->v3, 16) ^ h->v2;
	h->v0 += h->v3;
	h->v3 = rd_hash_rotate(h->v3, 21) ^ h->v0;
	h->v2 += h->v1;
	h->v1 = rd_hash_rotate(h->v1, 17) ^ h->v2;
	h->v2 = rd_hash_rotate(h->v2, 32);
}

/*
 * SipHash-1-3 (Aumasson, Bernstein: SipHash, 2012) over 64-bit words: begin, add each word, end.
 * From any thread; the state belongs to the caller.
 */
static inline struct rd_hash rd_hash_begin(void)
{
	if (!atomic_load_explicit(&rd_hash_is_ready, memory_order_acquire))
		rd_hash_prepare();
	return rd_hash_start;
}

static inline void rd_hash_add(struct rd_hash *h, uint64_t word)
{
	h->v3 ^= word;
	rd_hash_round(h);
	h->v0 ^= word;
}

/* Returns the hash; `words`: how many were added. */
static inline uint64_t rd_hash_end(struct rd_hash *h, unsigned int words)
{
	rd_hash_add(h, (uint64_t)(words * 8 & 0xff) << 56);
	h->v2 ^= 0xff;
	rd_hash_round(h);
	rd_hash_round(h);
	rd_hash_round(h);
	return h->v0 ^ h->v1 ^ h->v2 ^ h->v3;
}

static inline uint64_t rd_hash2(uint64_t a, uint64_t b)
{
	struct rd_hash h = rd_hash_begin();

	rd_hash_add(&h, a);
	rd_hash_add(&h, b);
	return rd_hash_end(&h, 2);
}

/* Adds `n` bytes and their number. Returns how many words it added, for rd_hash_end(). */
unsigned int rd_hash_add_bytes(struct rd_hash *h, const void *data, size_t n);
