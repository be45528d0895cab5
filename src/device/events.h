/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue of events that a monitor has not returned yet. */
#ifndef RDMADUMP_DEVICE_EVENTS_H
#define RDMADUMP_DEVICE_EVENTS_H

#include <rdmadump/event.h>

struct events {
	struct rd_event *event;
	size_t first, n;
};

/* Where events go, and what those of one origin about one port, or a device, have in common. */
struct event_to {
	struct events *queue;
	struct rd_event as;
};

/* Appends an event of this time. netdev, previous: "" if there is none. */
__attribute__((format(printf, 5, 6))) void events_put(const struct event_to *to, const char *kind,
	const char *netdev, const char *previous, const char *fmt, ...);
/* The oldest one; false: there is none. */
bool events_next(struct events *queue, struct rd_event *event);

#endif
