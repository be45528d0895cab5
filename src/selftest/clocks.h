/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares a device's clock with the host's, and checks the timestamps of completions by it. */
#ifndef RDMADUMP_SELFTEST_CLOCKS_H
#define RDMADUMP_SELFTEST_CLOCKS_H

#include "sniffer.h"
#include <rdmadump/clock.h>

enum device_clock {
	CLOCK_COUNTER,	 /* ibv_query_rt_values_ex(3); ticks */
	CLOCK_REAL_TIME, /* the device's real-time clock */
	DEVICE_CLOCKS,
};

struct clock_watch {
	const char *name; /* "counter" ...: static */
	bool readable;
	uint64_t value; /* at the last reading: ns, or ticks of the counter */
	int64_t ahead;	/* it minus the host's clock, in ns; not for the counter */
	/* Set by the caller. */
	uint64_t mask, khz; /* of the counter */
	enum device_clock clock;
	struct ibv_context *ctx;
	const struct rd_clock *host;
};

/* False: it cannot be read. */
bool clock_watch_read(struct clock_watch *w);
double clock_ticks_ns(uint64_t khz, int64_t ticks);

struct timestamp_counts {
	uint64_t frames, sent; /* `sent`: those from the port's own address, of all frames */
	uint64_t zero, implausible;
	bool implausible_known;	     /* the clock could be read at the same time */
	uint64_t backwards_received; /* older than the received frame before */
	uint64_t backwards_sent;     /* older than the sent frame before */
	/* Older than the frame of the other direction before, while both are in order of theirs. */
	uint64_t backwards_mixed;
	uint64_t changes;		      /* frames after a frame of the other direction */
	uint64_t most_back_ns, most_mixed_ns; /* maximum of the first two; of the third */
	int errnum;			      /* the sniffer could not be made, */
	enum sniffer_step step;		      /* ... in this step */
	bool sending;			      /* numbered frames were sent */
};

/*
 * Receives for `ms`, with timestamps of the clock, CLOCK_COUNTER or CLOCK_REAL_TIME, and sends
 * numbered frames where that is possible.
 */
void timestamps_take(struct rd_selftest *st, struct clock_watch *w, unsigned int ms,
	struct timestamp_counts *to);

#endif
