/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A lane: some sources, the thread that serves them, and the chunks that it fills. Without threads
 * there is one lane, of the caller.
 */
#ifndef RDMADUMP_CAPTURE_LANE_H
#define RDMADUMP_CAPTURE_LANE_H

#include <pthread.h>
#include <rdmadump/capture.h>
#include <stdatomic.h>

struct engine;

enum fd_kind { FD_FRAMES, FD_EVENTS, FD_SINK, FD_WATCH, FD_BELL };

struct lane {
	struct engine *e;
	const struct rd_capture_config *config;
	unsigned int index, stride;   /* it serves the sources index, index + stride, ... */
	struct rd_feed *const *feeds; /* one for each stripe; NULL: frames go nowhere */
	unsigned int n_feeds;
	unsigned int at; /* the feed of the chunk, or of the last one */
	struct rd_error err;
	struct rd_chunk *chunk;
	bool turn[RD_STRIPES_MAX]; /* the feed's next chunk begins a file */
	uint64_t chunk_since; /* when the chunk's first frame was seen to wait; 0: not seen yet */
	uint64_t lost[RD_IFACES_MAX];	 /* dropped since the interface's last frame */
	struct rd_frame outer[RD_BATCH]; /* the batch before the decapsulation */
	uint64_t slice_end;		 /* of the frames' time; 0: not begun */
	unsigned int live;		 /* sources that have not ended */
	bool ended[RD_IFACES_MAX];
	int epfd, bell; /* an eventfd by which other threads wake this one; -1: there are none */
	pthread_t thread;

	/* Written by the lane alone, read by anybody. */
	struct rd_tally tally[RD_IFACES_MAX];
	uint64_t bytes, newest_ns;
	/* Encoded up to the last chunk that was put, and in the chunks of each stripe. */
	uint64_t put[RD_IFACES_MAX], striped[RD_STRIPES_MAX][RD_IFACES_MAX];
	atomic_bool turn_asked;
};

struct engine {
	struct rd_capture *c;
	const struct rd_capture_config *config;
	struct rd_error *err;
	unsigned int base[RD_IFACES_MAX]; /* first interface of each source */
	struct lane *lanes;
	unsigned int n_lanes;
	pthread_mutex_t lock; /* of why and err */
	enum rd_end why;
	atomic_bool stop;
	/* Nothing new arrives any more: lanes end when they have received all. */
	atomic_bool stopped;
	atomic_bool quit;	/* and what has arrived does not count either */
	atomic_bool abandon;	/* told to end a second time: do not wait for the output any more */
	_Atomic uint64_t total; /* frames kept, of all sources; counted where there is a limit */
	atomic_uint live;	/* sources that have not ended */
	atomic_uint running;	/* threads */
	unsigned int n_threads;
	int bell; /* of the thread that watches; -1: the lane does */
};

/* engine.c */
/* The capture is to end; only the first call says why. err: the fault, NULL if there is none. */
void engine_end(struct engine *e, enum rd_end why, const struct rd_error *err);
/* Frame descriptors report once and are armed before each sleep. fd -1: none. */
int engine_watch(int epfd, int fd, enum fd_kind kind, unsigned int index, int operation,
	struct rd_error *err);
/* A watched descriptor is readable. */
void engine_watched(struct engine *e, unsigned int index);

/* lane.c: from a batch to the chunk */
void lane_process(struct lane *l, unsigned int source, struct rd_frame *frames, unsigned int n);
void lane_chunk_put(struct lane *l);
/* What the chunks of one stripe account for of an interface, so far. */
struct rd_tally lane_stripe_tally(const struct lane *l, unsigned int stripe, unsigned int iface);

/* lane_run.c: receiving and sleeping */
int lane_open(struct lane *l, struct rd_error *err);
void lane_close(struct lane *l);
/* Until the capture is to end. */
void lane_run(struct lane *l);
/* What has arrived before the sources were stopped. */
void lane_drain(struct lane *l);
/* Looks at every descriptor once, at most `timeout_ms` long. */
void lane_look(struct lane *l, int timeout_ms);

static inline void lane_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

#endif
