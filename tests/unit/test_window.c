/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of the window of posted receive buffers: each buffer is in one place at any time. */
#include "source/verbs_mlx5.h"
#include "test.h"

#define BUFFERS 256U
#define SLOTS	512U
#define BUSY	32U
#define BATCH	16U

static uint8_t memory[BUFFERS];
static const struct verbs_ring ring = {.memory = memory, .n = BUFFERS, .buffer_size = 1};
static struct verbs_window window;
static uint32_t head, tail;

static void begin(uint32_t busy)
{
	assert_int_equal(verbs_window_init(&window, &ring, SLOTS, busy), 0);
	head = BUFFERS;
	tail = 0;
}

/* The buffers that are posted and the spare ones are all there are, each of them once. */
static void assert_complete(void)
{
	unsigned int seen[BUFFERS] = {0};

	for (uint32_t i = tail; i != head; i++)
		seen[window.slot[i & (SLOTS - 1)] - memory]++;
	for (uint32_t i = 0; i < window.n_spare; i++)
		seen[window.spare[i] - memory]++;
	for (unsigned int i = 0; i < BUFFERS; i++)
		assert_int_equal(seen[i], 1);
}

/* A poll of so many completions, and what its buffers' release posts. Returns the posted ones. */
static uint32_t step(uint32_t entries, bool more)
{
	tail += entries;
	verbs_window_polled(&window, entries, more);
	verbs_window_take(&window, tail, entries);
	for (; window.n_spare && head - tail < verbs_window_limit(&window); head++)
		verbs_window_give(&window, head);
	assert_complete();
	return head - tail;
}

/* Completions pile up until the window is in use; some steps later it is all that is posted. */
static void overload(void)
{
	for (unsigned int i = 0; i < 4 * BUFFERS / BATCH; i++)
		assert_int_equal(step(BATCH, true), BUFFERS);
	for (unsigned int i = 0; i < BUFFERS / BATCH; i++)
		step(BATCH, true);
	assert_int_equal(head - tail, BUSY);
}

/* Slow traffic and bursts: all buffers are posted at any time. */
TEST(whole)
{
	begin(BUSY);
	for (unsigned int i = 0; i < 16 * BUFFERS; i++)
		assert_int_equal(step(i % BATCH, i % (BUFFERS / 2)), BUFFERS);
	verbs_window_free(&window);
}

/* Overload: the same few buffers are used. */
TEST(overload)
{
	bool used[BUFFERS] = {false};
	unsigned int n = 0;

	begin(BUSY);
	overload();
	for (unsigned int i = 0; i < 10 * BUFFERS; i++) {
		used[window.slot[tail & (SLOTS - 1)] - memory] = true;
		assert_int_equal(step(1, true), BUSY);
	}
	for (unsigned int i = 0; i < BUFFERS; i++)
		n += used[i];
	assert_in_range(n, 1, BUSY + 1);
	verbs_window_free(&window);
}

/* A poll empties the CQ: all buffers are posted again at once. */
TEST(end_of_overload)
{
	begin(BUSY);
	overload();
	assert_int_equal(step(1, false), BUFFERS);
	overload();
	verbs_window_free(&window);
}

/* A window as large as the ring: each entry keeps its buffer. */
TEST(small_ring)
{
	begin(2 * BUFFERS);
	for (unsigned int i = 0; i < 16 * BUFFERS; i++)
		same(step(BATCH, true), BUFFERS, window.n_spare, 0);
	verbs_window_free(&window);
}

/* Any traffic: no buffer is lost or posted twice. */
TEST(random)
{
	srand(1);
	begin(BUSY);
	for (unsigned int i = 0; i < 100000; i++) {
		uint32_t most = head - tail < BATCH ? head - tail : BATCH;

		step((uint32_t)rand() % (most + 1), rand() % 2000);
	}
	verbs_window_fill(&window, &ring);
	head = BUFFERS;
	tail = 0;
	assert_complete();
	assert_int_equal(window.n_spare, 0);
	verbs_window_free(&window);
}
