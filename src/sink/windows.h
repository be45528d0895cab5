/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which frames a retaining sink writes: the times around triggers, joined if they overlap. From any
 * thread.
 */
#ifndef RDMADUMP_SINK_WINDOWS_H
#define RDMADUMP_SINK_WINDOWS_H

#include <pthread.h>
#include <rdmadump/sink.h>

#define WINDOWS_MAX                                                                                \
	16 /* windows that wait for the writer; a further one is merged with the last              \
	    */

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

void windows_init(struct windows *w, const struct rd_retention *config);
void windows_fini(struct windows *w);
/* Adds a trigger at this timestamp; now_ns: CLOCK_MONOTONIC. */
enum rd_triggered windows_add(struct windows *w, uint64_t ns, uint64_t now_ns);
/* The oldest window that is not complete; false: none. It may still grow. */
bool windows_next(struct windows *w, struct window *next);
/* Marks the oldest window as complete; false if it has been extended beyond `until`. */
bool windows_complete(struct windows *w, uint64_t until);
/* Drops the oldest window, whose file failed: what it wanted is missed. holdoff_ns does not apply.
 */
void windows_drop(struct windows *w);
/* Whether a frame of this time is missed, with so much time around each window. */
bool windows_missed(const struct windows *w, uint64_t ns, uint64_t slack_ns);
/* No older frame than this is there any more. */
void windows_missed_until(struct windows *w, uint64_t ns);
/* A window without a file does not count towards the limit of files. */
void windows_forget(struct windows *w);
/* Drops all windows; later triggers are refused. */
void windows_close(struct windows *w);

#endif
