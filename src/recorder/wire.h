/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Triggers that frames fire. One thread. Memory is constant: if the table is full, the flow that
 * was idle longest is evicted and counted.
 */
#ifndef RDMADUMP_RECORDER_WIRE_H
#define RDMADUMP_RECORDER_WIRE_H

#include "stall.h"

#define WIRE_FLOWS   32768 /* a power of two: also the number of lists */
#define WIRE_BUCKETS 10	   /* parts of a second, for rates */

/*
 * The requests from one connected QP to another, as sent or received by a port. Indexes of flows
 * count from 1; 0: none.
 */
struct wire_flow {
	uint64_t key;	  /* a hash */
	uint32_t newest;  /* PSN */
	uint32_t last;	  /* PSN of the packet before */
	uint32_t first;	  /* first PSN of the last retransmission round */
	uint32_t rounds;  /* retransmission rounds that started with it */
	uint32_t next;	  /* the list of flows with this hash */
	uint32_t older;	  /* by their last request */
	uint32_t younger; /* ... */
};

/* How often something happened within the last second. */
struct wire_rate {
	uint64_t bucket; /* number of the newest tenth of a second */
	uint64_t above;	 /* ... in which the limit was last exceeded; 0: never */
	uint32_t count[WIRE_BUCKETS];
};

struct wire {
	struct trigger **triggers; /* those of frames */
	unsigned int n;
	struct wire_rate *rates; /* one for each */
	uint32_t wanted;	 /* bit for each enum wire_kind */
	struct wire_flow *flows; /* NULL: no trigger needs them */
	uint32_t *lists;	 /* by hash: the first flow of each */
	uint32_t n_flows, oldest, youngest;
	uint64_t forgotten;  /* flows evicted from the full table */
	struct stall *stall; /* gets every packet; may be NULL */
};

/* Uses the frame triggers among all triggers. -1 if out of memory. wire_fini() in both cases. */
int wire_init(struct wire *w, struct trigger *triggers, unsigned int n);
void wire_fini(struct wire *w);
/* The trigger that this frame fires, the first one if there are several; NULL: none. Hot path. */
struct trigger *wire_frame(struct wire *w, enum rd_link link, const struct rd_frame *frame);
/* Describes a frame that fired a trigger: "nak: NAK 'remote access error' to QP 0x12, PSN 5". */
void wire_describe(const struct trigger *t, enum rd_link link, const struct rd_frame *frame,
	char *out, size_t size);

#endif
