/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of tables that drop their oldest key, compared with a plain list of keys. */
#include "analysis/model/bounded.h"
#include "test.h"
#include <rdmadump/hash.h>

#define MAX   256
#define KEYS  600
#define STEPS 20000

/* The keys, oldest first. */
struct list {
	uint32_t key[MAX];
	unsigned int n, replaced;
};

static unsigned int place_of(const struct list *l, uint32_t key)
{
	unsigned int i = 0;

	while (i < l->n && l->key[i] != key)
		i++;
	return i;
}

static void drop(struct list *l, unsigned int at)
{
	l->n--;
	memmove(&l->key[at], &l->key[at + 1], (l->n - at) * sizeof(*l->key));
}

/* Two parts of a key, some with the same first part. */
static uint64_t first_part(uint32_t key)
{
	return key / 3;
}

static void assert_same(const struct bounded *b, const struct list *l)
{
	const uint32_t *value = bounded_oldest(b);

	for (unsigned int i = 0; i < l->n; i++, value = bounded_newer(b, value)) {
		assert_non_null(value);
		assert_int_equal(*value, l->key[i]);
		assert_ptr_equal(bounded_find(b, first_part(l->key[i]), l->key[i]), value);
	}
	assert_null(value);
}

static void take(struct bounded *b, struct list *l, uint32_t key)
{
	bool made;
	const bool full = bounded_is_full(b);
	uint32_t *value = bounded_take(b, first_part(key), key, &made);

	assert_non_null(value);
	assert_int_equal(made, place_of(l, key) == l->n);
	if (!made) {
		assert_int_equal(*value, key);
		return;
	}
	assert_int_equal(full, l->n == MAX);
	/* What it replaced. */
	assert_int_equal(*value, l->n == MAX ? l->key[0] : 0);
	if (l->n == MAX) {
		drop(l, 0);
		l->replaced++;
	}
	l->key[l->n++] = key;
	*value = key;
}

TEST(as_list)
{
	struct bounded b;
	struct list l = {.n = 0};

	bounded_init(&b, MAX, sizeof(uint32_t));
	assert_null(bounded_find(&b, 1, 1));
	srandom(1);
	for (unsigned int i = 0; i < STEPS; i++) {
		uint32_t key = 1 + (uint32_t)random() % KEYS;
		uint32_t *value = bounded_find(&b, first_part(key), key);

		assert_int_equal(!value, place_of(&l, key) == l.n);
		if (value && random() % 2) {
			bounded_remove(&b, value);
			drop(&l, place_of(&l, key));
		} else {
			take(&b, &l, key);
		}
		if (i % 100 == 0)
			assert_same(&b, &l);
	}
	assert_true(l.replaced > MAX);
	assert_same(&b, &l);
	bounded_free(&b);
	assert_null(bounded_find(&b, 1, 1));
}
