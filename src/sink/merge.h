/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Brings the chunks of several feeds into the order of their frames' timestamps. */
#ifndef RDMADUMP_SINK_MERGE_H
#define RDMADUMP_SINK_MERGE_H

#include "feed.h"
#include <rdmadump/format.h>

#define MERGE_ROTATIONS 64 /* rotations pending at most; further ones are ignored */

/* One feed's next record. */
struct merge_head {
	struct rd_feed *feed;
	struct rd_chunk *chunk; /* NULL: none is here */
	size_t at;		/* of the record in it */
	uint64_t ns;		/* what it is ordered by; without a chunk: no older one will come */
	uint64_t newest;	/* what the record before it was ordered by */
	struct rd_tally seen[RD_IFACES_MAX]; /* as of the chunk before */
};

struct merge {
	const struct rd_encoder *encoder;
	struct merge_head *head;
	unsigned int n;
	struct merge_head *lent; /* whose chunk the last piece points into, and which is used up */
	struct rd_chunk out;	 /* the piece handed out */
	uint8_t *stage;		 /* records that were gathered from several chunks */
	size_t room;
	uint64_t newest;       /* what the last record handed out was ordered by */
	_Atomic uint64_t late; /* records handed out after a newer one of another feed */
	_Atomic uint64_t rotation[MERGE_ROTATIONS];
	atomic_uint rotations_put, rotations_taken;
};

int merge_init(struct merge *m, const struct rd_encoder *encoder, struct rd_feed *feeds,
	unsigned int n, size_t room, struct rd_error *err);
void merge_fini(struct merge *m);
/*
 * The next records in order, like a chunk that one feed alone had put; valid until the next call.
 * NULL: none that is known to be the next. all: the feeds put nothing more.
 */
const struct rd_chunk *merge_next(struct merge *m, bool all);
enum merge_state {
	MERGE_EMPTY,   /* nothing is here */
	MERGE_READY,   /* merge_next() has something */
	MERGE_WAITING, /* records wait for other feeds' watermarks */
};
enum merge_state merge_state(struct merge *m);
/* Requests a watermark from the feeds that are waited for. */
void merge_request(struct merge *m);
/* Whether a feed may soon run out of chunks: watermarks are then requested without delay. */
bool merge_under_pressure(const struct merge *m);
/* The first record with this timestamp or a later one begins a new file. From any one thread. */
void merge_rotate(struct merge *m, uint64_t ns);

#endif
