/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The chunks that one lane fills: taken from the feeds of its stripes round robin, and returned to
 * them with the tally of the frames. Used only by the lane's thread; never waits.
 */
#ifndef RDMADUMP_CAPTURE_OUTLET_H
#define RDMADUMP_CAPTURE_OUTLET_H

#include <rdmadump/sink.h>

struct outlet {
	struct rd_feed *const *feeds; /* one per stripe; NULL: frames are not written */
	unsigned int n_feeds;
	unsigned int n_ifaces; /* number of interfaces of the encoder */
	bool merged;	       /* other lanes also put frames into the same sinks */
	unsigned int at;       /* index of the current chunk's feed, or of the last one */
	struct rd_chunk *chunk;
	/*
	 * Monotonic time at which the chunk's first frame began to wait; 0: unknown. Set by the
	 * lane.
	 */
	uint64_t chunk_since;
	bool rotate[RD_STRIPES_MAX]; /* the next chunk of this feed starts a file */
	/* Frames in chunks that were put: of all stripes, and per stripe. */
	uint64_t put[RD_IFACES_MAX], striped[RD_STRIPES_MAX][RD_IFACES_MAX];
};

/* Gets a chunk, if there is none, from the next stripe with a free one. False: none is free. */
bool outlet_get(struct outlet *o);
/* Passes the chunk to its feed; `tally` is the lane's current one. There must be a chunk. */
void outlet_put(struct outlet *o, const struct rd_tally *tally);
/* The next chunk of each stripe starts a file; passes the current one to its feed. */
void outlet_rotate(struct outlet *o, const struct rd_tally *tally);
/*
 * No more chunks follow: passes the current one to its feed and sets the last watermark for merging
 * writers.
 */
void outlet_end(struct outlet *o, const struct rd_tally *tally);
/*
 * Before sleeping because no chunk is free: false if one is free now. The next chunk that is
 * returned makes rd_feed_fd() of its feed readable.
 */
bool outlet_arm(struct outlet *o);
/* Whether one of the sinks has ended. */
bool outlet_ended(const struct outlet *o);
/*
 * The tally of one stripe for an interface so far. Filtered and dropped frames are in no stripe,
 * and count in the first one.
 */
struct rd_tally outlet_tally(const struct outlet *o, const struct rd_tally *tally,
	unsigned int stripe, unsigned int iface);

#endif
