/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The software clock of timestamps: Unix epoch; it never goes back while the program runs. */
#pragma once

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

/* Stores the current difference between wall clock and monotonic clock. Call it before
 * rd_clock_now(). */
static inline void rd_clock_set(struct rd_clock *c)
{
	c->epoch_ns = rd_wall_ns() - rd_monotonic_ns();
}

/* Not changed by later steps of the wall clock: timestamps keep their order and distances. */
static inline uint64_t rd_clock_now(const struct rd_clock *c)
{
	return c->epoch_ns + rd_monotonic_ns();
}
