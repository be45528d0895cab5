/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The path of frames from a batch to a chunk: direction, decapsulation, filtering, truncation,
 * encoding. Every frame is accounted for. A pipe is used by one thread and never waits: if no chunk
 * is free, it returns, and the caller decides whether to wait or to drop frames.
 */
#ifndef RDMADUMP_CAPTURE_PIPE_H
#define RDMADUMP_CAPTURE_PIPE_H

#include <rdmadump/capture.h>
#include <stdatomic.h>

struct pipe {
	const struct rd_capture_config *config;
	const unsigned int *base; /* first interface of each source in the encoder */
	_Atomic uint64_t *kept;	  /* frames kept by all pipes; counted only if there is a limit */
	bool limit_reached;	  /* max_frames were kept: later frames do not count */
	struct rd_feed *feed;	  /* NULL: frames are not written */
	struct rd_chunk *chunk;	  /* that is filled */
	/*
	 * Monotonic time at which the chunk's first frame began to wait; 0: unknown. Set by the
	 * lane.
	 */
	uint64_t chunk_since;
	bool begins_file;		 /* the next chunk does */
	uint64_t lost[RD_IFACES_MAX];	 /* dropped since the interface's last frame */
	struct rd_frame outer[RD_BATCH]; /* the batch before decapsulation */
	uint64_t slice_end;		 /* by the frames' timestamps; 0: no slice has started */
	atomic_bool rotate;		 /* set by any thread: the next frame starts a new file */

	/* Written only by the pipe's thread, read by any. */
	struct rd_tally tally[RD_IFACES_MAX];
	uint64_t bytes, newest_ns;

	/* Only for the pipe's thread, until the end. */
	struct rd_frame_account account;
	uint64_t received_ns; /* newest timestamp of all frames received */
	uint64_t start_ns;    /* start of the capture: used for unknown times */
};

/* The state of a batch in a pipe, initialized by pipe_batch(). */
struct pipe_batch {
	struct rd_source *s;
	unsigned int source; /* its index in the configuration */
	unsigned int base;   /* its first interface in the encoder */
	struct rd_frame *frames;
	unsigned int n;

	unsigned int taken; /* frames that passed filter and cut */
	/* Kept frames that are not encoded yet; n_slice: those of the current file. */
	const struct rd_frame *kept;
	unsigned int n_kept, n_slice;
	uint64_t commented;   /* bit i: the ith of `kept` gets a comment */
	unsigned int comment; /* number of the first of `kept` for rd_capture_config.comment() */
	bool has_note;	      /* `note` belongs to the only frame of `kept` */
	struct rd_note note;
};

/* n frames of that source, which are not released before the pipe has consumed them. */
static inline void pipe_batch(const struct pipe *p, struct pipe_batch *b, unsigned int source,
	struct rd_frame *frames, unsigned int n)
{
	b->s = p->config->sources[source];
	b->source = source;
	b->base = p->base[source];
	b->frames = frames;
	b->n = n;
	b->taken = b->n_kept = b->n_slice = 0;
	b->commented = 0;
	b->has_note = false;
}

enum pipe_status {
	PIPE_OK,	 /* the batch is consumed */
	PIPE_NEED_CHUNK, /* n_kept frames of it wait for a chunk */
};

/*
 * Processes a batch. After PIPE_NEED_CHUNK: call it again when a chunk may be free, or after
 * pipe_drop(). The batch must not be released before PIPE_OK.
 */
enum pipe_status pipe_run(struct pipe *p, struct pipe_batch *b);
/* Passes the chunk to the feed, with the tally of its frames. There must be a chunk. */
void pipe_put(struct pipe *p);
/* No more frames follow. */
void pipe_end(struct pipe *p);
/* Drops the frames that wait for a chunk, and counts them. */
void pipe_drop(struct pipe *p, struct pipe_batch *b);

#endif
