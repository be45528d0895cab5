/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The chunks of a sink that retains frames: a ring of full chunks. */
#ifndef RDMADUMP_SINK_HELD_H
#define RDMADUMP_SINK_HELD_H

#include "feed.h"
#include <rdmadump/error.h>

/* Timestamps are out of order by less than this: a window is extended by it at both ends. */
#define SLACK_NS 1000000U

struct held {
	struct rd_chunk **chunk; /* ring of `capacity` entries */
	size_t capacity, first, n;
	size_t most; /* maximum number of chunks: the others are for the lane */
	/* In the oldest chunk: what is before `at` was written or has expired. */
	size_t at;
	unsigned int taken;  /* frames before it */
	uint64_t ns;	     /* order of the record there, unless it is the first one */
	uint64_t missing_ns; /* timestamp of the newest frame that was evicted from memory */
};

/* For a feed of n chunks. -1 with RD_CLASS_OUTPUT; held_fini() in both cases. */
int held_init(struct held *h, size_t n, struct rd_error *err);
void held_fini(struct held *h);

/* While there is any: */
struct rd_chunk *held_oldest(const struct held *h);
const struct rd_chunk *held_newest(const struct held *h);
/* The order of the oldest record. */
uint64_t held_ns(const struct held *h);
/* The oldest chunk's records up to this time; at most `most` bytes. */
struct run held_run(const struct rd_sink *s, uint64_t until, uint64_t most);
/* They were written. */
void held_advance(struct held *h, const struct run *run);
/* Returns the oldest chunk to the lane. Frames that are left in it are counted. */
void held_release(struct rd_sink *s);

/* Takes all chunks that the lane has filled. */
void held_take(struct rd_sink *s);
/* Leaves the lane enough chunks, and discards frames that no later trigger can need. */
void held_expire(struct rd_sink *s);
/* Skips frames older than the window: no later window needs them either. */
void held_skip_older(struct rd_sink *s);

#endif
