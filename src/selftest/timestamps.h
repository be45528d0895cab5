/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks the timestamps of completions: zeros, implausible times, order. */
#ifndef RDMADUMP_SELFTEST_TIMESTAMPS_H
#define RDMADUMP_SELFTEST_TIMESTAMPS_H

#include "clock_readings.h"
#include "selftest.h"
#include "sniffer.h"

struct timestamp_counts {
	uint64_t frames, sent; /* `sent`: those from the port's own address, of all frames */
	uint64_t zero, implausible;
	bool implausible_known;	     /* the clock could be read at the same time, and was not set */
	uint64_t backwards_received; /* older than the received frame before */
	uint64_t backwards_sent;     /* older than the sent frame before */
	/* Older than the frame of the other direction before, while both are in order of theirs. */
	uint64_t backwards_mixed;
	uint64_t changes;		      /* frames after a frame of the other direction */
	uint64_t most_back_ns, most_mixed_ns; /* maximum of the first two; of the third */
	uint64_t least_age_ns, most_age_ns;   /* ns from timestamp to poll, without those that are
						 implausible or 0 */
	int errnum;			      /* the sniffer could not be made, */
	enum sniffer_step step;		      /* ... in this step */
	bool sending;			      /* numbered frames were sent */
};

/*
 * Receives for `ms`, with timestamps of the clock CLOCK_COUNTER or CLOCK_REAL_TIME, and sends
 * numbered frames where that is possible. Meanwhile reads all clocks, DEVICE_CLOCKS of them.
 */
void timestamps_take(struct rd_selftest *st, struct clock_watch *all, enum device_clock clock,
	unsigned int ms, struct timestamp_counts *to);

#endif
