/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of matching two captures. Times are nanoseconds in A's clock; those of B are reduced by
 * the first estimate of the offset. A distance is the time at B minus the time at A.
 */
#ifndef RDMADUMP_ANALYSIS_ENDS_H
#define RDMADUMP_ANALYSIS_ENDS_H

#include "../model/state.h"
#include <rdmadump/ends.h>

/* --- distances over time (clock.c) ------------------------------------------------------------ */

#define CLOCK_SLOTS 64

/* The shortest and longest distance within one slot of time. */
struct extremes {
	int64_t min, max;
};

struct distances {
	uint64_t n;
	double sum;
	uint64_t width; /* of a slot; doubles when all slots are used */
	unsigned int used;
	struct extremes slots[CLOCK_SLOTS]; /* min > max: none */
	/* Of the last quarter second or two, to compare the next distance with. */
	uint64_t window;
	struct extremes now, before;
	struct hist *above; /* distance above the shortest one: delays, if A is the sender */
	struct hist *below; /* below the longest one: delays, if B is */
	uint64_t above_frame, below_frame; /* where the largest one arrived */
};

/* Adds a distance at time t (since the start), with the frames of both ends. False if out of
 * memory. */
bool distances_add(
	struct distances *d, uint64_t t, int64_t distance, const uint64_t frame[RD_TAPS]);
/* Sets offset, its error and drift from the distances of both directions; `out` is from A to B. */
void distances_clock(
	const struct distances *out, const struct distances *back, struct rd_ends_report *r);

/* --- paths and their QPs ---------------------------------------------------------------------- */

struct path {
	struct path *reverse; /* NULL: no frames */
	struct distances d;
	uint64_t frames_out[RD_TAPS]; /* frames that a capture marks as sent by its host */
	unsigned int net;
	uint8_t src[16], dst[16];
};

struct path_qp {
	uint64_t key; /* hash of addresses and QP */
	struct path *path;
	uint32_t qp;
	uint64_t matched, reordered;
	uint64_t last[RD_TAPS];		    /* highest frame matched */
	struct rd_incident only[RD_TAPS];   /* captured there only */
	struct rd_incident copies[RD_TAPS]; /* the same, of a packet that is there more often than
					       at the other end */
	uint64_t edge_copies[RD_TAPS]; /* of them: so near the end of the other capture that they
					  may be missing there */
};

#define PATHS_MAX    1024
#define PATH_QPS_MAX 16384
#define PATH_SLOTS   ((size_t)PATHS_MAX * 2)

/* --- packets that wait for their match -------------------------------------------------------- */

enum entry_state { ENTRY_OPEN, ENTRY_COPY, ENTRY_MATCHED };

/*
 * Entries are numbered from 1 in order of arrival. Numbers below the tail belong to removed
 * entries; 0: none. Several entries may have the same identity: only the newest one is linked from
 * its bucket, and it has the numbers of the others that are needed.
 */
struct entry {
	uint64_t identity, frame;
	int64_t t;
	struct path_qp *to;
	uint64_t next;	/* newest entry of the next identity in this bucket */
	uint64_t below; /* next older unmatched entry of this identity */
	uint64_t top;	/* in the newest entry: the newest unmatched one */
	uint64_t open;	/* in the newest entry: the ENTRY_OPEN one; later ones are copies */
	uint8_t state;
	bool newest;
};

#ifndef ENDS_ROOM_LOG2 /* smaller for the fuzzer, which restarts many times a second */
#define ENDS_ROOM_LOG2 18
#endif
#define RING	((uint64_t)1 << ENDS_ROOM_LOG2)
#define BUCKETS ((uint64_t)1 << ENDS_ROOM_LOG2)

/* The packets of one capture that wait for a match, and the packets matched lately. */
struct pending {
	struct entry *ring;
	uint64_t *buckets;
	uint64_t head, tail; /* entries [tail, head) are in the ring */
	uint64_t frames;     /* of the file, so far */
	int64_t first, last;
	bool ended;
};

struct rd_ends {
	int64_t offset;
	uint64_t origin; /* first timestamp of A */
	struct pending pending[RD_TAPS];
	int64_t margin; /* longest time between the two captures of a packet */
	uint64_t matched, outside, evicted, left_out;
	struct path *paths[PATHS_MAX];
	uint16_t path_slots[PATH_SLOTS]; /* an open hash: place in paths + 1 */
	size_t n_paths;
	struct path_qp **qps; /* open hash */
	size_t n_qps;
	struct path_qp *cached;
	bool out_of_memory;
};

#define PATH_QP_SLOTS ((size_t)PATH_QPS_MAX * 2)

#endif
