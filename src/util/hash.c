/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The secret key of the hash: one per process, chosen at first use. */
#include <pthread.h>
#include <rdmadump/hash.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

atomic_bool rd_hash_is_ready;
struct rd_hash rd_hash_start;

static void choose_key(void)
{
	uint64_t key[2];

	/* Fails only shortly after boot. A clock and an address are then hard to guess. */
	if (getrandom(key, sizeof(key), GRND_NONBLOCK) != sizeof(key)) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		key[0] = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
		/* Random, by address space layout randomization. */
		key[1] = (uint64_t)(uintptr_t)&rd_hash_start;
	}
	rd_hash_start = (struct rd_hash){key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
		key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
	atomic_store_explicit(&rd_hash_is_ready, true, memory_order_release);
}

void rd_hash_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose_key);
}

unsigned int rd_hash_add_bytes(struct rd_hash *h, const void *data, size_t n)
{
	const char *p = data;
	unsigned int words = 1;

	for (size_t i = 0; i < n; i += sizeof(uint64_t), words++) {
		uint64_t word = 0;

		memcpy(&word, p + i, n - i < sizeof(word) ? n - i : sizeof(word));
		rd_hash_add(h, word);
	}
	rd_hash_add(h, n);
	return words;
}
