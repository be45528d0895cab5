/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* File descriptors that may not be open; timers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Closes it, unless it is -1, which it becomes. */
static inline void rd_fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* A timer that fires every `ns`; -1: there is none. */
static inline int rd_timer_open(uint64_t ns)
{
	const struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	timerfd_settime(fd, 0, &(struct itimerspec){t, t}, NULL); /* of no timer, it fails */
	return fd;
}

/* Whether a timer has fired, or an eventfd was written to, since this was asked last. */
static inline bool rd_fd_fired(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == sizeof(n);
}
