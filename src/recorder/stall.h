/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Detects stalled connections: a request has no response, and no packet of the conversation was
 * seen for longer than a trigger allows. One thread. Memory is constant: if the table is full,
 * conversations are evicted and counted.
 */
#ifndef RDMADUMP_RECORDER_STALL_H
#define RDMADUMP_RECORDER_STALL_H

#include "trigger.h"
#include <rdmadump/frame.h>

#define STALL_FLOWS 16384 /* a power of two, below 2^24 */

struct stall_flow;
struct stall_answers;

struct stall {
	struct trigger **triggers; /* those that wait for a stall, at most 64 */
	unsigned int n;
	uint64_t least, most; /* shortest and longest of their times, ns */
	struct stall_flow *flows;
	struct stall_answers *answers;
	uint32_t *pairs;	 /* by pair of hosts: the first of a list of flows */
	uint32_t oldest, newest; /* list of waiting flows, ordered by their last packet */
	uint64_t clock;		 /* all frames up to this timestamp were seen */
	uint64_t read_ns;	 /* monotonic time when the newest frames were received */
	uint64_t tick_ns;	 /* monotonic time of the last call of stall_tick() */
	uint64_t due;		 /* value of `clock` at which to check again */
	uint64_t forgotten;	 /* flows evicted from the full table */
	uint32_t at;		 /* the next flow to check; 0: none */
};

/*
 * Selects the stall triggers among all triggers. -1 if out of memory. stall_fini() in both cases.
 */
int stall_init(struct stall *s, struct trigger *triggers, unsigned int n);
void stall_fini(struct stall *s);
/* A packet of any kind. Hot path. */
void stall_packet(struct stall *s, const struct rd_packet *p, const struct rd_frame *frame);
/* A batch of frames was received at this time of the monotonic clock. */
void stall_received(struct stall *s, uint64_t now_ns);
/*
 * Called at intervals by the thread that receives frames, which has polled since the last call.
 * Frames may wait in the source for late_ns.
 */
void stall_tick(struct stall *s, uint64_t now_ns, uint64_t late_ns);
/*
 * The next trigger that fires; call it until it returns NULL. *ns: the timestamp at which its time
 * expired; out: describes the conversation.
 */
struct trigger *stall_next(struct stall *s, uint64_t *ns, char *out, size_t size);

#endif
