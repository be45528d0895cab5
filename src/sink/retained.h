/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The writer of a sink that retains frames: files with the frames around triggers. */
#pragma once

#include "feed.h"
#include "series.h"
#include <pthread.h>

/* What a retaining sink writes: times around triggers, joined if they overlap. From any thread. */

#define WINDOWS_MAX 16 /* that wait for the writer; a further one is merged with the last */

/* Times are frame timestamps in ns; both ends are included. */
struct window {
	uint64_t from, until;
	uint64_t trigger; /* the first one */
	uint64_t due_ns;  /* CLOCK_MONOTONIC time at which `until` has passed */
};

struct windows {
	const struct rd_retention *config;
	pthread_mutex_t lock;
	struct window queue[WINDOWS_MAX];
	unsigned int first, n;
	unsigned int begun; /* windows so far */
	uint64_t ended;	    /* the end of the newest one that is complete */
	bool closed;
	/* Dropped, as their files failed; joined where they overlap. For the writer only. */
	struct window missed[WINDOWS_MAX];
	unsigned int n_missed;
};

/* Adds a trigger at this timestamp; now_ns: CLOCK_MONOTONIC. */
enum rd_triggered windows_add(struct windows *w, uint64_t ns, uint64_t now_ns);
/* The oldest window that is not complete; false: none. It may still grow. */
bool windows_next(struct windows *w, struct window *next);
/* Marks the oldest window as complete; false if it has been extended beyond `until`. */
bool windows_complete(struct windows *w, uint64_t until);
/* Drops the oldest window, whose file failed: what it wanted is missed. No holdoff_ns. */
void windows_drop(struct windows *w);
/* Whether a frame of this time is missed, with so much time around each window. */
bool windows_missed(const struct windows *w, uint64_t ns, uint64_t slack_ns);
/* No older frame than this is there any more. */
void windows_missed_until(struct windows *w, uint64_t ns);
/* A window without a file does not count towards the limit of files. */
void windows_forget(struct windows *w);
/* Drops all windows; later triggers are refused. */
void windows_close(struct windows *w);

/* The chunks of a sink that retains frames: a ring of full chunks. */

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

struct rd_sink;

struct retained {
	struct windows windows;
	struct held held;
	struct window window;	   /* window of the current file */
	struct rd_dump dump;	   /* the same for callers */
	uint64_t bytes_before;	   /* bytes of the previous files */
	uint64_t requested_ns;	   /* monotonic time of the last request to the lane */
	struct series_found found; /* files that existed before this sink */
	unsigned int files;	   /* files that this sink wrote */
	bool dumping;		   /* a file is open */
	bool failed;		   /* ... and cannot be written */
	bool any_failed;	   /* the newest error is `error` */
	struct rd_error error;
	bool locked;
};

/* After the feeds were made. -1 with RD_CLASS_OUTPUT; held_fini() in both cases. */
int retained_init(struct rd_sink *s, struct rd_error *err);
/* Called once the series is known: existing files of it count towards the limits. */
void retained_find(struct rd_sink *s);
/* The writer thread of such a sink; runs until s->closing. */
void *retained_run(void *sink);
