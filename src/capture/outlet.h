/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The chunks that one lane fills: taken from the feeds of its stripes round robin, handed over with
 * the account of their frames. Used by the lane's thread alone, never waits. */
#ifndef RDMADUMP_CAPTURE_OUTLET_H
#define RDMADUMP_CAPTURE_OUTLET_H

#include <rdmadump/sink.h>

struct outlet {
	struct rd_feed *const *feeds; /* one for each stripe; NULL: frames go nowhere */
	unsigned int n_feeds;
	unsigned int n_ifaces; /* of the encoder */
	bool merged;	       /* other lanes' feeds lead into the same sinks */
	unsigned int at;       /* the feed of the chunk, or of the last one */
	struct rd_chunk *chunk;
	/* When the chunk's first frame was seen to wait, by the monotonic clock; 0: not yet. Set by
	 * the lane. */
	uint64_t chunk_since;
	bool rotate[RD_STRIPES_MAX]; /* the feed's next chunk begins a file */
	/* Encoded up to the last chunk that was put, and in the chunks of each stripe. */
	uint64_t put[RD_IFACES_MAX], striped[RD_STRIPES_MAX][RD_IFACES_MAX];
};

/* Gets a chunk, if there is none, from the next stripe that has one free. False: none has. */
bool outlet_get(struct outlet *o);
/* Hands the chunk over; `tally` is the lane's, as of now. There must be one. */
void outlet_put(struct outlet *o, const struct rd_tally *tally);
/* The next chunk of each stripe begins a file; hands the current one over. */
void outlet_rotate(struct outlet *o, const struct rd_tally *tally);
/* No more chunks: hands the current one over and ends the wait of merging writers. */
void outlet_end(struct outlet *o, const struct rd_tally *tally);
/* Before sleeping because no chunk is free: false if one is free by now. The first that comes back
 * makes rd_feed_fd() of its feed readable. */
bool outlet_arm(struct outlet *o);
/* Whether one of the sinks has ended. */
bool outlet_ended(const struct outlet *o);
/* What the chunks of one stripe account for of an interface, so far. Frames that were filtered or
 * dropped are in no stripe: they count in the first. */
struct rd_tally outlet_tally(const struct outlet *o, const struct rd_tally *tally,
	unsigned int stripe, unsigned int iface);

#endif
