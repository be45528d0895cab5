/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Delays completion events, so that the receiving thread wakes up less often. */
#ifndef RDMADUMP_SOURCE_VERBS_GATHER_H
#define RDMADUMP_SOURCE_VERBS_GATHER_H

#include <stdint.h>

struct verbs_queue;

/* Of one queue. */
struct verbs_gather {
	uint32_t count, period_us; /* the CQ's moderation; count 0: none */
	uint64_t frames;	   /* received since the last completion event */
	uint64_t event_ns;	   /* monotonic time of that event */
	unsigned int early;	   /* consecutive events that moderation should have delayed */
};

/*
 * Sets the moderation of the queue's new CQ (ibv_modify_cq(3)), or timed waits if the device has
 * none; and src.gathers and src.nap_ns accordingly. Without hardware timestamps, frames get the
 * time at which they are polled: then events are not delayed.
 */
void verbs_gather_init(struct verbs_queue *q);

/* After a completion event. If the events are not moderated, the queue changes to timed waits. */
void verbs_gather_event(struct verbs_queue *q);

#endif
