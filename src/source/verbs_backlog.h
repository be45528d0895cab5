/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames that are held back until the device's clock has been compared with the host's. */
#ifndef RDMADUMP_SOURCE_VERBS_BACKLOG_H
#define RDMADUMP_SOURCE_VERBS_BACKLOG_H

#include <rdmadump/frame.h>
#include <stdbool.h>
#include <stdint.h>

struct verbs_queue;

struct verbs_backlog {
	struct rd_frame *frames; /* NULL: none are held back */
	unsigned int n, capacity, delivered;
	uint8_t *copy; /* their bytes, where the ring was full; NULL: those are in the ring */
};

/*
 * While the clock's offset is unknown: polls all that has arrived, compares the clock by means of
 * the newest frames, and returns the frames in batches; 0: none are held back, poll the queue. In
 * the queue's own thread.
 */
unsigned int verbs_backlog_receive(
	struct verbs_queue *q, struct rd_frame *frames, unsigned int max);
/* The last batch was released. False: others are held back, nothing is to be posted yet. */
bool verbs_backlog_release(struct verbs_backlog *b);
void verbs_backlog_free(struct verbs_backlog *b);

#endif
