/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys in buckets of a hash, and in a list by age. */
#include "bounded.h"
#include <rdmadump/hash.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 8

void bounded_init(struct bounded *b, uint32_t max, uint32_t size)
{
	*b = (struct bounded){.max = CAPACITY_FIRST, .size = size};
	while (b->max < max)
		b->max *= 2;
}

void bounded_free(struct bounded *b)
{
	free(b->buckets);
	free(b->keys);
	free(b->values);
	bounded_init(b, b->max, b->size);
}

static struct bounded_key *key_at(const struct bounded *b, uint32_t number)
{
	return &b->keys[number - 1];
}

static void *value_of(const struct bounded *b, uint32_t number)
{
	return number ? b->values + (size_t)(number - 1) * b->size : NULL;
}

static uint32_t number_of(const struct bounded *b, const void *value)
{
	return (uint32_t)((size_t)((const unsigned char *)value - b->values) / b->size) + 1;
}

void *bounded_oldest(const struct bounded *b)
{
	return value_of(b, b->oldest);
}

void *bounded_newer(const struct bounded *b, const void *value)
{
	return value_of(b, key_at(b, number_of(b, value))->newer);
}

static uint32_t *bucket_of(const struct bounded *b, uint32_t hash)
{
	return &b->buckets[hash & (b->capacity - 1)];
}

static void *find(const struct bounded *b, uint32_t hash, uint64_t k1, uint32_t k2)
{
	uint32_t number = b->buckets ? *bucket_of(b, hash) : 0;

	while (number && (key_at(b, number)->k1 != k1 || key_at(b, number)->k2 != k2))
		number = key_at(b, number)->next;
	return value_of(b, number);
}

void *bounded_find(const struct bounded *b, uint64_t k1, uint32_t k2)
{
	return find(b, (uint32_t)rd_hash2(k1, k2), k1, k2);
}

/* Called when all keys are used: none is free. */
static bool grow(struct bounded *b)
{
	uint32_t capacity = b->capacity ? b->capacity * 2 : CAPACITY_FIRST;
	struct bounded_key *keys;
	unsigned char *values;
	uint32_t *buckets;

	keys = reallocarray(b->keys, capacity, sizeof(*keys));
	if (!keys)
		return false;
	b->keys = keys;
	values = reallocarray(b->values, capacity, b->size);
	if (!values)
		return false;
	b->values = values;
	buckets = calloc(capacity, sizeof(*buckets));
	if (!buckets)
		return false;
	free(b->buckets);
	b->buckets = buckets;
	b->capacity = capacity;
	for (uint32_t i = b->oldest; i; i = key_at(b, i)->newer) {
		uint32_t *bucket = bucket_of(b, key_at(b, i)->hash);

		key_at(b, i)->next = *bucket;
		*bucket = i;
	}
	return true;
}

/* Takes a key out of its bucket and of the list. */
static void unlink_key(struct bounded *b, uint32_t number)
{
	const struct bounded_key *key = key_at(b, number);
	uint32_t *link = bucket_of(b, key->hash);

	while (*link != number)
		link = &key_at(b, *link)->next;
	*link = key->next;
	*(key->older ? &key_at(b, key->older)->newer : &b->oldest) = key->newer;
	*(key->newer ? &key_at(b, key->newer)->older : &b->newest) = key->older;
}

void bounded_remove(struct bounded *b, void *value)
{
	const uint32_t number = number_of(b, value);

	unlink_key(b, number);
	memset(value, 0, b->size);
	key_at(b, number)->next = b->free;
	b->free = number;
}

/* A number for a new key; 0: out of memory. */
static uint32_t number_for(struct bounded *b)
{
	uint32_t number = b->free;

	if (number) {
		b->free = key_at(b, number)->next;
		return number;
	}
	if (b->used == b->max) {
		number = b->oldest;
		unlink_key(b, number);
		return number;
	}
	if (b->used == b->capacity && !grow(b))
		return 0;
	number = ++b->used;
	memset(value_of(b, number), 0, b->size);
	return number;
}

void *bounded_take(struct bounded *b, uint64_t k1, uint32_t k2, bool *made)
{
	const uint32_t hash = (uint32_t)rd_hash2(k1, k2);
	void *value = find(b, hash, k1, k2);
	uint32_t number, *bucket;

	*made = !value;
	if (value)
		return value;
	number = number_for(b);
	if (!number)
		return NULL;
	bucket = bucket_of(b, hash);
	*key_at(b, number) = (struct bounded_key){
		.k1 = k1, .k2 = k2, .hash = hash, .next = *bucket, .older = b->newest};
	*bucket = number;
	*(b->newest ? &key_at(b, b->newest)->newer : &b->oldest) = number;
	b->newest = number;
	return value_of(b, number);
}
