/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Triggers that frames fire. One thread. Memory is constant: a flow for which there is no room
 * replaces one that was idle longer, which is counted.
 */
#ifndef RDMADUMP_RECORDER_WIRE_H
#define RDMADUMP_RECORDER_WIRE_H

#include "stall.h"

#define WIRE_FLOWS   65536 /* twice those that have room nearly always; a power of two */
#define WIRE_WAYS    8	   /* associativity of the table, as in a cache; a power of two */
#define WIRE_BUCKETS 10	   /* parts of a second, for rates */

/*
 * The requests from one connected QP to another, as sent or received by a port.
 */
struct wire_flow {
	uint64_t key;	 /* a hash; 0: unused */
	uint64_t used;	 /* number of its last request */
	uint32_t newest; /* PSN */
	uint32_t last;	 /* PSN of the packet before */
	uint32_t first;	 /* first PSN of the last retransmission round */
	uint32_t rounds; /* retransmission rounds that started with it */
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
	uint64_t requests;	 /* so far */
	uint64_t forgotten;	 /* flows that were replaced */
	struct stall *stall;	 /* gets every packet; may be NULL */
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
