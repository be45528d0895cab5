/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lets completions gather while the receiving thread sleeps, so that it wakes up less often. */
#ifndef RDMADUMP_SOURCE_VERBS_GATHER_H
#define RDMADUMP_SOURCE_VERBS_GATHER_H

#include <stdint.h>

struct verbs_queue;

/* Of one queue. */
struct verbs_gather {
	uint32_t count, period_us; /* the CQ's moderation; count 0: none */
	uint64_t frames;	   /* received since the last completion event */
	uint64_t event_ns;	   /* when that was, monotonic */
	unsigned int early;	   /* events in a row that moderation ought to have delayed */
};

/*
 * Sets the moderation of the queue's new CQ (ibv_modify_cq(3)), or a timed wait where the device
 * has none, and with it src.gathers and src.nap_ns. Without hardware timestamps frames get the time
 * at which they are polled: nothing may gather then.
 */
void verbs_gather_init(struct verbs_queue *q);

/*
 * A completion event was read. Where events come as if there were no moderation, the queue changes
 * to the timed wait.
 */
void verbs_gather_event(struct verbs_queue *q);

#endif
