/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's timestamps of frames are times of the system clock, which may be set. Here they
 * become times of the host's clock (struct rd_clock), as all others are.
 */
#ifndef RDMADUMP_SOURCE_NETDEV_CLOCK_H
#define RDMADUMP_SOURCE_NETDEV_CLOCK_H

#include <rdmadump/clock.h>
#include <stdint.h>

/* Differences: wall clock minus monotonic clock, in ns. Used by one thread; `host` by any. */
struct netdev_clock {
	struct rd_clock host; /* when the capture began; not changed after that */
	uint64_t epoch_ns;    /* the difference now */
	uint64_t former_ns;   /* before the last step */
	uint64_t step_ns;     /* CLOCK_MONOTONIC time at which that was seen; 0: there was none */
};

void netdev_clock_start(struct netdev_clock *c);
/* Reads both clocks: after frames were read, and before their timestamps are converted. */
void netdev_clock_look(struct netdev_clock *c);
/* The same with what was read. */
void netdev_clock_epoch(struct netdev_clock *c, uint64_t epoch_ns, uint64_t monotonic_ns);
/*
 * The time of the host's clock that is meant by the timestamp of a frame that was read at this
 * CLOCK_MONOTONIC time.
 */
uint64_t netdev_clock_ns(const struct netdev_clock *c, uint64_t stamp_ns, uint64_t monotonic_ns);

#endif
