/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checks whether the first InfiniBand packets of each direction end with ICRC and VCRC, and reports
 * it.
 */
#ifndef RDMADUMP_SOURCE_TRAILER_WATCH_H
#define RDMADUMP_SOURCE_TRAILER_WATCH_H

#include <pthread.h>
#include <rdmadump/frame.h>
#include <rdmadump/trailer.h>
#include <rdmadump/wire.h>
#include <stdatomic.h>

struct trailer_watch {
	const char *name;     /* of the port, for messages; borrowed */
	pthread_mutex_t lock; /* guards `of` */
	struct rd_trailers of[RD_DIRECTIONS];
	atomic_uint reported; /* bits of the directions */
};

void trailer_watch_init(struct trailer_watch *w, const char *name);
/* Frames as they were delivered. Sets their direction as long as it checks them. */
void trailer_watch_take(struct trailer_watch *w, const struct rd_local *local,
	struct rd_frame *frames, unsigned int n);
/* The findings so far; from any thread. */
void trailer_watch_read(struct trailer_watch *w, struct rd_trailers of[RD_DIRECTIONS]);
/* Reports the result if there were too few packets for a complete one, and frees the lock. */
void trailer_watch_fini(struct trailer_watch *w);

#endif
