/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of the feed: chunks passed to the writer and back, and the watermark. */
#include "test_feed.h"
#include "test.h"
#include <pthread.h>
#include <sys/resource.h>

#define N    4
#define ROOM 4096

static void put_one(struct rd_feed *f, const struct rd_encoder *e, uint64_t ns)
{
	struct rd_chunk *c = rd_feed_get(f);

	assert_non_null(c);
	assert_true(chunk_add(e, c, ns, 0));
	rd_feed_put(f, c);
}

static void give_back(struct rd_feed *f)
{
	struct rd_chunk *c = rd_ring_take(&f->full);

	assert_non_null(c);
	rd_ring_put(&f->free, c);
}

/* Chunks do not overlap, are empty, and there are as many as were requested. */
TEST(all_and_no_more)
{
	struct sink_state sink = {false, false};
	struct rd_chunk *got[N];
	struct rd_feed f;

	feed_make(&f, &sink, N, ROOM);
	for (unsigned int i = 0; i < N; i++) {
		got[i] = rd_feed_get(&f);
		assert_non_null(got[i]);
		same(got[i]->capacity, ROOM, got[i]->used, 0);
		memset(got[i]->data, (int)i + 1, ROOM);
	}
	for (unsigned int i = 0; i < N; i++)
		for (size_t at = 0; at < ROOM; at++)
			assert_int_equal(got[i]->data[at], i + 1);
	assert_null(rd_feed_get(&f));
	feed_fini(&f);
}

TEST(reuse)
{
	struct sink_state sink = {false, false};
	struct rd_chunk *first, *second;
	struct rd_encoder e;
	struct rd_feed f;

	encoder_make(&e, "pcapng", 1);
	feed_make(&f, &sink, N, ROOM);
	/* An empty chunk never reaches the writer, and is the next one. */
	first = rd_feed_get(&f);
	rd_feed_put(&f, first);
	assert_null(rd_ring_take(&f.full));
	assert_ptr_equal(rd_feed_get(&f), first);
	assert_true(chunk_add(&e, first, 7, 0));
	first->rotate = true;
	rd_feed_put(&f, first);
	/* Of the returned chunks the last is in the cache; it has nothing of its former content. */
	second = rd_feed_get(&f);
	assert_ptr_not_equal(first, second);
	assert_true(chunk_add(&e, second, 8, 0));
	rd_feed_put(&f, second);
	assert_ptr_equal(rd_ring_take(&f.full), first);
	assert_ptr_equal(rd_ring_take(&f.full), second);
	rd_ring_put(&f.free, second);
	rd_ring_put(&f.free, first);
	assert_ptr_equal(rd_feed_get(&f), first);
	expect("0 0 0", first->used, first->frames, first->rotate);
	assert_ptr_equal(rd_feed_get(&f), second);
	feed_fini(&f);
}

/* The engine sleeps while no chunk is free, and wakes when the writer returns one. */
TEST(await)
{
	struct sink_state sink = {false, false};
	struct rd_chunk *c[N];
	struct rd_feed f;

	feed_make(&f, &sink, N, ROOM);
	assert_false(rd_feed_arm_for_chunk(&f));
	for (unsigned int i = 0; i < N; i++)
		c[i] = rd_feed_get(&f);
	expect("1 0", rd_feed_arm_for_chunk(&f), fd_readable(rd_feed_fd(&f)));
	rd_ring_put(&f.free, c[0]);
	assert_true(fd_readable(rd_feed_fd(&f)));
	rd_feed_disarm(&f);
	assert_false(fd_readable(rd_feed_fd(&f)));
	/* One lies in the ring. */
	assert_false(rd_feed_arm_for_chunk(&f));
	assert_ptr_equal(rd_feed_get(&f), c[0]);
	assert_true(rd_feed_arm_for_chunk(&f));
	feed_fini(&f);
}

/* Idle: the writer has written all, and the caller holds the only other chunk. */
TEST(idle_and_doze)
{
	struct sink_state sink = {false, false};
	struct rd_encoder e;
	struct rd_feed f;

	encoder_make(&e, "pcapng", 1);
	feed_make(&f, &sink, N, ROOM);
	assert_non_null(rd_feed_get(&f));
	assert_true(rd_feed_idle(&f));
	put_one(&f, &e, 1);
	assert_false(rd_feed_idle(&f));
	/* After that the sleep lasts until a chunk is returned. */
	assert_true(rd_feed_arm(&f));
	give_back(&f);
	assert_true(fd_readable(rd_feed_fd(&f)));
	rd_feed_disarm(&f);
	expect("1 1", rd_feed_idle(&f), rd_feed_arm(&f));
	rd_feed_disarm(&f);
	/* Chunks returned before are taken first, and do not prevent the sleep. */
	put_one(&f, &e, 2);
	give_back(&f);
	assert_true(rd_feed_arm(&f));
	rd_feed_disarm(&f);
	feed_fini(&f);
}

TEST(watermark)
{
	struct sink_state sink = {false, false};
	struct rd_encoder e;
	struct rd_feed f;

	encoder_make(&e, "pcapng", 1);
	feed_make(&f, &sink, N, ROOM);
	assert_int_equal(rd_feed_requested(&f), 0);
	/* Set without a request. */
	rd_feed_watermark(&f, 10);
	assert_int_equal(f.watermark, 10);
	/* A request wakes a sleeping lane. */
	assert_true(rd_feed_arm(&f));
	feed_request(&f, 50);
	assert_true(fd_readable(rd_feed_fd(&f)));
	rd_feed_disarm(&f);
	assert_int_equal(rd_feed_requested(&f), 50);
	/* A lower watermark does not fulfil the request, and wakes no thread. */
	assert_true(rd_ring_about_to_sleep(&f.full));
	rd_feed_watermark(&f, 49);
	expect("10 50 0", f.watermark, rd_feed_requested(&f), fd_readable(f.full.fd));
	/* One of the requested value does. */
	rd_feed_watermark(&f, 50);
	expect("50 0 1", f.watermark, rd_feed_requested(&f), fd_readable(f.full.fd));
	rd_ring_awake(&f.full);
	/* And so does a chunk. */
	feed_request(&f, 70);
	assert_true(rd_ring_about_to_sleep(&f.full));
	put_one(&f, &e, 60);
	expect("0 1", rd_feed_requested(&f), fd_readable(f.full.fd));
	rd_ring_awake(&f.full);
	/* But not an empty one. */
	feed_request(&f, 80);
	rd_feed_put(&f, rd_feed_get(&f));
	assert_int_equal(rd_feed_requested(&f), 80);
	feed_fini(&f);
}

TEST(sink_ended)
{
	struct sink_state sink = {false, false};
	struct rd_feed f;

	feed_make(&f, &sink, N, ROOM);
	expect("0 0", rd_feed_ended(&f), rd_feed_failed(&f));
	sink.complete = true;
	expect("1 0", rd_feed_ended(&f), rd_feed_failed(&f));
	sink.failed = true;
	assert_true(rd_feed_failed(&f));
	feed_fini(&f);
}

/* --- two threads ------------------------------------------------------------------------ */

#define CHUNKS 20000

struct both {
	struct rd_feed f;
	struct rd_encoder e;
	unsigned int wrong;
};

static void sleep_on(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	/* Without timeout: after a lost wake-up the watchdog ends the test. */
	poll(&pfd, 1, -1);
}

/* The writer's side; requests a watermark now and then. */
static void *writes(void *arg)
{
	struct both *b = arg;
	uint64_t n = 0;

	while (n < CHUNKS) {
		struct rd_chunk *c = ring_wait(&b->f.full);

		b->wrong += c->first_ns != n++;
		rd_ring_put(&b->f.free, c);
		if (n % 64 == 0 && n < CHUNKS)
			feed_request(&b->f, n);
	}
	return NULL;
}

TEST(two_threads)
{
	struct sink_state sink = {false, false};
	static struct both b;
	pthread_t thread;
	uint64_t n = 0;

	encoder_make(&b.e, "pcapng", 1);
	feed_make(&b.f, &sink, N, ROOM);
	assert_int_equal(pthread_create(&thread, NULL, writes, &b), 0);
	while (n < CHUNKS) {
		struct rd_chunk *c = rd_feed_get(&b.f);

		if (c) {
			assert_true(chunk_add(&b.e, c, n++, 0));
			rd_feed_put(&b.f, c);
			continue;
		}
		if (!rd_feed_arm_for_chunk(&b.f))
			continue;
		sleep_on(rd_feed_fd(&b.f));
		rd_feed_disarm(&b.f);
	}
	pthread_join(thread, NULL);
	assert_int_equal(b.wrong, 0);
	feed_fini(&b.f);
}

/* --- failure ---------------------------------------------------------------------------- */

TEST(no_memory)
{
	struct rd_feed f = {0};

	same(feed_init(&f, NULL, N, SIZE_MAX / N / 2, -1, &failure), -1, failure.class,
		RD_CLASS_OUTPUT);
	assert_non_null(strstr(failure.text, "--buffer-size"));
	feed_fini(&f);
}

TEST(no_descriptor)
{
	struct rlimit old, none;
	struct rd_feed f = {0};
	int rc;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rc = feed_init(&f, NULL, N, ROOM, -1, &failure);
	expect("0 -1", setrlimit(RLIMIT_NOFILE, &old), rc);
	feed_fini(&f);
}
