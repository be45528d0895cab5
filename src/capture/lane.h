/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lane: some sources, the pipe for their frames, and the thread that receives, waits and sleeps.
 * Without threads there is one lane, run by the caller.
 */
#pragma once

#include <pthread.h>
#include <rdmadump/capture.h>
#include <stdatomic.h>

/* State shared by the threads of a capture: whether and why it ends, and how they are woken. */

enum fd_kind { FD_FRAMES, FD_EVENTS, FD_SINK, FD_WATCH, FD_WAKE };

struct control {
	struct rd_capture *c;
	const struct rd_capture_config *config;
	struct rd_error *err;
	pthread_mutex_t lock; /* protects why and err */
	enum rd_end why;
	atomic_bool stop;
	/* No new frames arrive: lanes end when they have received the rest. */
	atomic_bool stopped;
	atomic_bool quit;      /* end at once, without the rest */
	atomic_bool abandon;   /* second request to end: do not wait for the output */
	_Atomic uint64_t kept; /* frames kept, of all sources; counted only if there is a limit */
	atomic_uint live;      /* sources that have not ended */
	atomic_uint running;   /* threads */
	int wake_fd; /* eventfd of the thread that serves the watches; -1: the only lane does */
};

/*
 * Ends the capture; only the first call sets the reason. err: the fault, NULL if there is none.
 * From any thread.
 */
void control_end(struct control *c, enum rd_end why, const struct rd_error *err);
/* Calls the owner of a watched descriptor that is readable. True: it wants a new file to start. */
bool control_watched(struct control *c, unsigned int index);
/* Wakes the thread that waits for this eventfd; -1: none. */
void control_wake(int wake_fd);
/*
 * Adds a descriptor to an epoll set, or changes it (`operation`). Those of FD_FRAMES report once
 * and are armed before each sleep. fd -1: nothing to do. Returns 0, or -1 with RD_CLASS_DEVICE.
 */
int control_poll(int epfd, int fd, enum fd_kind kind, unsigned int index, int operation,
	struct rd_error *err);

/*
 * The path of frames from a batch to a chunk: direction, decapsulation, filtering, truncation,
 * encoding. Every frame is accounted for. A pipe is used by one thread and never waits: if no chunk
 * is free, it returns, and the caller decides whether to wait or to drop frames.
 */

struct pipe {
	const struct rd_capture_config *config;
	const unsigned int *base; /* first interface of each source in the encoder */
	_Atomic uint64_t *kept;	  /* frames kept by all pipes; counted only if there is a limit */
	bool limit_reached;	  /* max_frames were kept: later frames do not count */
	struct rd_feed *feed;	  /* NULL: frames are not written */
	struct rd_chunk *chunk;	  /* that is filled */
	/* Monotonic time at which the chunk's first frame began to wait; 0: unknown. */
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

struct lane {
	struct control *control;
	const struct rd_capture_config *config;
	unsigned int index, stride; /* serves sources index, index + stride, ... */
	struct pipe pipe;
	struct rd_error err;
	bool ended[RD_IFACES_MAX];
	struct {
		bool taken;	     /* a nap was taken since the sources were armed */
		unsigned int frames; /* received since the last nap */
		unsigned int longer; /* duration: 2^this times the shortest nap of the sources */
	} nap;			     /* a sleep without arming the sources */
	int epfd, wake_fd; /* an eventfd by which other threads wake this one; -1: there are
			   none */
	pthread_t thread;
};

/*
 * Opens the lane's epoll set of sources, feeds and wake_fd; without a wake_fd also of the watches.
 * Returns 0, or -1 with RD_CLASS_DEVICE. Call lane_close() in both cases.
 */
int lane_open(struct lane *l, struct rd_error *err);
void lane_close(struct lane *l);
/* Receives until the capture ends. */
void lane_run(struct lane *l);
/* Receives the frames that arrived before the sources were stopped. */
void lane_drain(struct lane *l);

/*
 * Starts a new file for all lanes of the capture. If lanes are merged, it starts at a timestamp
 * after the newest frame of any lane; otherwise with the next frame of each lane.
 */
void lanes_rotate(struct lane *lanes, unsigned int n);
