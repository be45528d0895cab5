/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The software clock of timestamps: Unix epoch; it never goes back while the program runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct rd_clock {
	uint64_t epoch_ns; /* wall clock minus monotonic clock when the clock was set */
};

static inline uint64_t rd_timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000U + (uint64_t)t->tv_nsec;
}

/* CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t rd_monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return rd_timespec_ns(&t);
}

/* The system clock: nanoseconds since the Unix epoch. */
static inline uint64_t rd_wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return rd_timespec_ns(&t);
}

#define RD_CLOCK_READS	 4
#define RD_CLOCK_READ_NS 50000U

/* Reads wall clock and monotonic clock once. Returns the ns that it took. */
static inline uint64_t rd_clock_read(struct rd_clock *c)
{
	uint64_t before = rd_monotonic_ns();

	c->epoch_ns = rd_wall_ns() - before;
	return rd_monotonic_ns() - before;
}

/*
 * Stores the current difference between both clocks. Call it before rd_clock_now(). If another
 * thread ran between the readings, they are repeated; false: each time.
 */
static inline bool rd_clock_set(struct rd_clock *c)
{
	struct rd_clock again;
	uint64_t least = rd_clock_read(c), took;

	for (unsigned int i = 1; i < RD_CLOCK_READS && least > RD_CLOCK_READ_NS; i++) {
		took = rd_clock_read(&again);
		if (took < least) {
			least = took;
			*c = again;
		}
	}
	return least <= RD_CLOCK_READ_NS;
}

/* Not changed by later steps of the wall clock: timestamps keep their order and distances. */
static inline uint64_t rd_clock_now(const struct rd_clock *c)
{
	return c->epoch_ns + rd_monotonic_ns();
}
