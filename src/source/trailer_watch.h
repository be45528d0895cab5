/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks how the first InfiniBand packets of each direction end, and reports it. */
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
/* Frames as they were delivered. Marks their direction while it looks. */
void trailer_watch_take(struct trailer_watch *w, const struct rd_local *local,
	struct rd_frame *frames, unsigned int n);
/* What was found until now; from any thread. */
void trailer_watch_read(struct trailer_watch *w, struct rd_trailers of[RD_DIRECTIONS]);
/* Reports what too few packets show, and frees the lock. */
void trailer_watch_fini(struct trailer_watch *w);

#endif
