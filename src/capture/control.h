/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State shared by the threads of a capture: whether and why it ends, and how they are woken. */
#ifndef RDMADUMP_CAPTURE_CONTROL_H
#define RDMADUMP_CAPTURE_CONTROL_H

#include <pthread.h>
#include <rdmadump/capture.h>
#include <stdatomic.h>

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
/*
 * Calls the owner of a watched descriptor that is readable. True if it wants a new file to start.
 */
bool control_watched(struct control *c, unsigned int index);
/* Wakes the thread that waits for this eventfd; -1: none. */
void control_wake(int wake_fd);
/*
 * Adds a descriptor to an epoll set, or changes it (`operation`). Those of FD_FRAMES report once
 * and are armed before each sleep. fd -1: nothing to do. Returns 0, or -1 with RD_CLASS_DEVICE.
 */
int control_poll(int epfd, int fd, enum fd_kind kind, unsigned int index, int operation,
	struct rd_error *err);

#endif
