/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the threads of a capture share: whether and why it is to end, and what each may be woken by.
 */
#ifndef RDMADUMP_CAPTURE_CONTROL_H
#define RDMADUMP_CAPTURE_CONTROL_H

#include <pthread.h>
#include <rdmadump/capture.h>
#include <stdatomic.h>

enum fd_kind { FD_FRAMES, FD_EVENTS, FD_SINK, FD_WATCH, FD_BELL };

struct control {
	struct rd_capture *c;
	const struct rd_capture_config *config;
	struct rd_error *err;
	pthread_mutex_t lock; /* of why and err */
	enum rd_end why;
	atomic_bool stop;
	/* Nothing new arrives any more: lanes end when they have received all. */
	atomic_bool stopped;
	atomic_bool quit;      /* and what has arrived does not count either */
	atomic_bool abandon;   /* asked to end a second time: do not wait for the output any more */
	_Atomic uint64_t kept; /* frames kept, of all sources; counted where there is a limit */
	atomic_uint live;      /* sources that have not ended */
	atomic_uint running;   /* threads */
	int bell;	       /* eventfd of the thread that watches; -1: the only lane does */
};

/* The capture is to end; only the first call says why. err: the fault, NULL if there is none. From
 * any thread. */
void control_end(struct control *c, enum rd_end why, const struct rd_error *err);
/* A watched descriptor is readable: calls its owner. True if a new file was requested. */
bool control_watched(struct control *c, unsigned int index);
/* Wakes the thread that waits for this eventfd; -1: none. */
void control_ring(int bell);
/* Adds a descriptor to an epoll set, or changes it (`operation`). Those of FD_FRAMES report once
 * and are armed before each sleep. fd -1: none. -1 with RD_CLASS_DEVICE. */
int control_poll(int epfd, int fd, enum fd_kind kind, unsigned int index, int operation,
	struct rd_error *err);

#endif
