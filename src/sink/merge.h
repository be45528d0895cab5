/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Merges the chunks of several feeds by the timestamps of their frames. */
#pragma once

#include "feed.h"

#define MERGE_ROTATIONS 64 /* limit of pending rotations; further ones are ignored */

/* The next record of one feed. */
struct merge_head {
	struct rd_feed *feed;
	struct rd_chunk *chunk; /* NULL: there is no chunk now */
	size_t at;		/* position of the record in it */
	uint64_t ns;	 /* sort key of that record; without a chunk: no older record will follow */
	uint64_t newest; /* sort key of the previous record */
	struct rd_tally seen[RD_IFACES_MAX]; /* tally at the end of the previous chunk */
};

struct merge {
	const struct rd_encoder *encoder;
	struct merge_head *head;
	unsigned int n;
	struct merge_head *lent; /* the head into whose chunk the last piece points; released at the
				    next call */
	struct rd_chunk out;	 /* the piece returned last */
	uint8_t *stage;		 /* copies of records from several chunks */
	size_t capacity;
	uint64_t newest;       /* sort key of the last record returned */
	_Atomic uint64_t late; /* records returned after a newer one of another feed */
	_Atomic uint64_t rotation[MERGE_ROTATIONS];
	atomic_uint rotations_put, rotations_taken;
};

int merge_init(struct merge *m, const struct rd_encoder *encoder, struct rd_feed *feeds,
	unsigned int n, size_t size, struct rd_error *err);
void merge_fini(struct merge *m);
/*
 * The next records in order, in the form of a chunk; valid until the next call. NULL: older records
 * may still arrive. all: the feeds will put no more chunks.
 */
const struct rd_chunk *merge_next(struct merge *m, bool all);
enum merge_state {
	MERGE_EMPTY,   /* no feed has records */
	MERGE_READY,   /* merge_next() returns records */
	MERGE_WAITING, /* records wait for watermarks of other feeds */
};
enum merge_state merge_state(struct merge *m);
/* Requests a watermark from each feed that delays the merge. */
void merge_request(struct merge *m);
/* Whether a feed may soon run out of chunks: watermarks are then requested without delay. */
bool merge_under_pressure(const struct merge *m);
/* The first record from this timestamp on starts a new file. From any thread, one at a time. */
void merge_rotate(struct merge *m, uint64_t ns);
