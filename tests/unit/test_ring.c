/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unit tests of the ring: order, wrap-around, and that no wake-up is lost. The interleaving of two
 * threads is tested step by step: a page of the ring is protected, so that one side stops at its
 * access and the other side acts before it continues.
 */
#include "test.h"
#include <poll.h>
#include <pthread.h>
#include <rdmadump/ring.h>
#include <sys/mman.h>
#include <sys/resource.h>

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif

static int numbers[4096];

static void ring_make(struct rd_ring *ring, size_t capacity)
{
	if (rd_ring_init(ring, capacity, &failure) < 0)
		fail_msg("%s", failure.text);
}

static bool readable(const struct rd_ring *ring)
{
	struct pollfd pfd = {.fd = ring->fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

/* --- order ------------------------------------------------------------------------------ */

TEST(first_in_first_out)
{
	struct rd_ring ring;

	ring_make(&ring, 4);
	assert_null(rd_ring_take(&ring));
	for (int i = 0; i < 4; i++) {
		rd_ring_put(&ring, &numbers[i]);
		assert_int_equal(rd_ring_used(&ring), i + 1);
	}
	for (int i = 0; i < 4; i++) {
		assert_ptr_equal(rd_ring_take(&ring), &numbers[i]);
		assert_int_equal(rd_ring_used(&ring), 3 - i);
	}
	assert_null(rd_ring_take(&ring));
	rd_ring_fini(&ring);
}

/* Every capacity holds as many items as documented, at any position in the ring. */
TEST(wrap_around)
{
	for (size_t capacity = 1; capacity <= 17; capacity++) {
		struct rd_ring ring;

		ring_make(&ring, capacity);
		assert_true(ring.mask + 1 >= capacity);
		for (size_t start = 0; start < 40; start++) {
			for (size_t i = 0; i < capacity; i++)
				rd_ring_put(&ring, &numbers[i]);
			assert_int_equal(rd_ring_used(&ring), capacity);
			for (size_t i = 0; i < capacity; i++)
				assert_ptr_equal(rd_ring_take(&ring), &numbers[i]);
			assert_null(rd_ring_take(&ring));
			rd_ring_put(&ring, &numbers[0]);
			assert_ptr_equal(rd_ring_take(&ring), &numbers[0]);
		}
		rd_ring_fini(&ring);
	}
}

/* The counters wrap at the end of their range. */
TEST(counters_overflow)
{
	struct rd_ring ring;

	ring_make(&ring, 8);
	ring.head = ring.tail = SIZE_MAX - 2;
	for (int i = 0; i < 8; i++)
		rd_ring_put(&ring, &numbers[i]);
	assert_int_equal(rd_ring_used(&ring), 8);
	for (int i = 0; i < 8; i++)
		assert_ptr_equal(rd_ring_take(&ring), &numbers[i]);
	assert_null(rd_ring_take(&ring));
	rd_ring_fini(&ring);
}

/* --- sleeping --------------------------------------------------------------------------- */

TEST(sleep)
{
	struct rd_ring ring;

	ring_make(&ring, 4);
	/* The producer makes no system call while the consumer is awake. */
	rd_ring_put(&ring, &numbers[0]);
	rd_ring_notify(&ring);
	assert_false(readable(&ring));
	/* There is an item: no sleep, and the next put does not wake either. */
	assert_false(rd_ring_about_to_sleep(&ring));
	rd_ring_put(&ring, &numbers[1]);
	assert_false(readable(&ring));
	assert_ptr_equal(rd_ring_take(&ring), &numbers[0]);
	assert_ptr_equal(rd_ring_take(&ring), &numbers[1]);

	expect("1 0", rd_ring_about_to_sleep(&ring), readable(&ring));
	rd_ring_put(&ring, &numbers[2]);
	assert_true(readable(&ring));
	rd_ring_awake(&ring);
	assert_false(readable(&ring));
	assert_ptr_equal(rd_ring_take(&ring), &numbers[2]);
	/* Awake again. */
	rd_ring_put(&ring, &numbers[3]);
	assert_false(readable(&ring));
	assert_ptr_equal(rd_ring_take(&ring), &numbers[3]);

	assert_true(rd_ring_about_to_sleep(&ring));
	rd_ring_notify(&ring);
	assert_true(readable(&ring));
	rd_ring_awake(&ring);
	rd_ring_notify(&ring);
	assert_false(readable(&ring));
	/* Unconditionally. */
	rd_ring_wake(&ring);
	assert_true(readable(&ring));
	rd_ring_awake(&ring);
	assert_false(readable(&ring));
	rd_ring_fini(&ring);
}

#ifndef THREAD_SANITIZER
/* The action of the other thread when this one reaches the protected page. */
static struct {
	struct rd_ring *ring;
	uint8_t *page;
	size_t len;
	void (*other)(struct rd_ring *ring);
	unsigned int hits;
	bool slept;
} trap;

static void trapped(int sig, siginfo_t *info, void *context)
{
	uint8_t *at = info->si_addr;

	if (!trap.page || at < trap.page || at >= trap.page + trap.len) {
		signal(sig, SIG_DFL);
		return;
	}
	mprotect(trap.page, trap.len, PROT_READ | PROT_WRITE);
	trap.hits++;
	trap.other(trap.ring);
}

static void other_puts(struct rd_ring *ring)
{
	rd_ring_put(ring, &numbers[7]);
}

static void other_sleeps(struct rd_ring *ring)
{
	trap.slept = rd_ring_about_to_sleep(ring);
}

/* The consumer's fields end one page, the producer's begin the next. */
static struct rd_ring *split_ring(uint8_t **pages, size_t page)
{
	struct rd_ring *ring;

	*pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(*pages, MAP_FAILED);
	ring = (struct rd_ring *)(void *)(*pages + page - offsetof(struct rd_ring, tail));
	assert_true(offsetof(struct rd_ring, sleeping) < offsetof(struct rd_ring, tail));
	ring_make(ring, 4);
	return ring;
}

/* act() stops at its first write to the page, and other() runs then. */
static struct rd_ring *interleave(unsigned int which, uint8_t **pages,
	void (*act)(struct rd_ring *ring), void (*other)(struct rd_ring *ring))
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct sigaction old, action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
	struct rd_ring *ring = split_ring(pages, page);

	trap.ring = ring;
	trap.page = *pages + which * page;
	trap.len = page;
	trap.other = other;
	trap.hits = 0;
	expect("0 0", sigaction(SIGSEGV, &action, &old), mprotect(trap.page, page, PROT_READ));
	act(ring);
	assert_int_equal(sigaction(SIGSEGV, &old, NULL), 0);
	trap.page = NULL;
	assert_int_equal(trap.hits, 1);
	return ring;
}

static void interleave_end(struct rd_ring *ring, uint8_t *pages)
{
	rd_ring_fini(ring);
	munmap(pages, 2 * (size_t)sysconf(_SC_PAGESIZE));
}

/* Put while the consumer announces its sleep: it sees the item, or is woken. */
TEST(put_while_falling_asleep)
{
	uint8_t *pages;
	struct rd_ring *ring = interleave(0, &pages, other_sleeps, other_puts);

	assert_true(!trap.slept || readable(ring));
	rd_ring_awake(ring);
	assert_ptr_equal(rd_ring_take(ring), &numbers[7]);
	interleave_end(ring, pages);
}

/* The consumer falls asleep while the producer is about to put: it is woken. */
TEST(sleep_while_putting)
{
	uint8_t *pages;
	struct rd_ring *ring = interleave(1, &pages, other_puts, other_sleeps);

	expect("1 1", trap.slept, readable(ring));
	rd_ring_awake(ring);
	assert_ptr_equal(rd_ring_take(ring), &numbers[7]);
	interleave_end(ring, pages);
}
#endif

/* --- two threads ------------------------------------------------------------------------ */

struct pair {
	struct rd_ring there, back;
	size_t n, window;
};

static void *take_or_sleep(struct rd_ring *ring)
{
	struct pollfd pfd = {.fd = ring->fd, .events = POLLIN};
	void *item;

	while (!(item = rd_ring_take(ring))) {
		if (!rd_ring_about_to_sleep(ring))
			continue;
		/* Without timeout: after a lost wake-up the watchdog ends the test. */
		assert_int_equal(poll(&pfd, 1, -1), 1);
		rd_ring_awake(ring);
	}
	return item;
}

static void *consumer(void *arg)
{
	struct pair *p = arg;

	for (size_t i = 0; i < p->n; i++)
		rd_ring_put(&p->back, take_or_sleep(&p->there));
	return NULL;
}

/* Each side sleeps whenever it can do nothing; the smaller the ring, the more often. */
static void run_pair(size_t window, size_t n)
{
	struct pair p = {.n = n, .window = window};
	pthread_t thread;
	size_t sent = 0;

	ring_make(&p.there, window);
	ring_make(&p.back, window);
	assert_int_equal(pthread_create(&thread, NULL, consumer, &p), 0);
	for (size_t got = 0; got < n; got++) {
		for (; sent < n && sent - got < window; sent++)
			rd_ring_put(&p.there, &numbers[sent % 4096]);
		assert_ptr_equal(take_or_sleep(&p.back), &numbers[got % 4096]);
	}
	pthread_join(thread, NULL);
	assert_null(rd_ring_take(&p.there));
	assert_null(rd_ring_take(&p.back));
	rd_ring_fini(&p.there);
	rd_ring_fini(&p.back);
}

TEST(two_threads)
{
	run_pair(1, 20000);
	run_pair(3, 50000);
	run_pair(64, 200000);
}

/* --- failure ---------------------------------------------------------------------------- */

/* All is released: the next descriptor has the same number. */
TEST(nothing_left)
{
	struct rd_ring ring;
	int fd;

	ring_make(&ring, 4);
	fd = ring.fd;
	rd_ring_fini(&ring);
	ring_make(&ring, 4);
	assert_int_equal(ring.fd, fd);
	rd_ring_fini(&ring);
	rd_ring_fini(&ring);
}

TEST(no_descriptor)
{
	struct rlimit old, none;
	struct rd_ring ring;
	int rc;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rc = rd_ring_init(&ring, 4, &failure);
	same(setrlimit(RLIMIT_NOFILE, &old), 0, rc, -1, failure.class, RD_CLASS_OUTPUT);
	assert_non_null(strstr(failure.text, "ulimit -n"));
	/* Closes only its own descriptors, and may be called. */
	rd_ring_fini(&ring);
}
