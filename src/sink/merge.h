/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Brings the chunks of several feeds into the order of their frames' time stamps. */
#ifndef RDMADUMP_SINK_MERGE_H
#define RDMADUMP_SINK_MERGE_H

#include "feed.h"
#include <rdmadump/format.h>

#define MERGE_TURNS 64 /* that may wait for their frame; more are one */

/* One feed's next record. */
struct merge_head {
	struct rd_feed *feed;
	struct rd_chunk *chunk; /* NULL: none is here */
	size_t at;		/* of the record in it */
	uint64_t ns;		/* its stamp; without a chunk: no older one will come */
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
	uint64_t newest;       /* stamp of the last record handed out */
	_Atomic uint64_t late; /* records that came behind a newer one */
	_Atomic uint64_t turn[MERGE_TURNS];
	atomic_uint turns_put, turns_taken;
};

int merge_init(struct merge *m, const struct rd_encoder *encoder, struct rd_feed *feeds,
	unsigned int n, size_t room, struct rd_error *err);
void merge_fini(struct merge *m);
/*
 * The next records in order, like a chunk that one feed alone had put; valid until the next call.
 * NULL: none whose turn is known to have come. all: the feeds put nothing more.
 */
const struct rd_chunk *merge_next(struct merge *m, bool all);
enum merge_state {
	MERGE_EMPTY, /* nothing is here */
	MERGE_READY, /* merge_next() has something */
	MERGE_HELD,  /* what is here waits for feeds that have not said how far they are */
};
enum merge_state merge_state(struct merge *m);
/* Asks those that are waited for. */
void merge_want(struct merge *m);
/* Whether a feed may soon run short of chunks: nobody should wait then without asking. */
bool merge_pressed(const struct merge *m);
void merge_turn(struct merge *m, uint64_t ns);

#endif
