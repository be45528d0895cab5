/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Congestion marks and notifications, priorities and pauses: state of a flow, and of the whole. */
#pragma once

#include <rdmadump/analysis.h>

struct flow;
struct hist;
struct item;

/* --- priorities (priority.c) ------------------------------------------------------------------ */

#define TCLASS_NONE 0x100 /* more than a traffic class can be */
#define PCP_NONE    0xff

/* Of a flow's packets, CNPs excluded. */
struct flow_priority {
	/* Of the first packet without a tag or a congestion mark; TCLASS_NONE: none yet. */
	uint16_t tclass;
	uint8_t dscp; /* of the first one */
	uint8_t other_dscp;
	uint32_t others; /* packets with another DSCP, counted up to UINT32_MAX */
	uint8_t ecn;	 /* bit n: ECN field n was seen */
	uint8_t pcp;	 /* of the first VLAN tag; PCP_NONE: no packet had one */
	uint8_t cnp_dscp;
	bool known : 1, untagged : 1, pcp_varies : 1, cnp_known : 1;
	bool vlans_differ : 1; /* of its frames; without a tag is one of them */
	uint16_t vlan;	       /* of the outer tag of the last one with a tag, 0: no VLAN */
};

/* A packet that is tagged, or differs from those before. */
void priority_take(struct rd_analysis *a, struct flow *f, const struct rd_packet *p);
/* As the report has it. */
struct rd_priority priority_result(const struct flow_priority *q, uint64_t frames);

/* --- rates, marks and notifications (congestion.c) -------------------------------------------- */

#define RATE_SLOT_NS UINT64_C(100000)

/* Bytes of a flow since the current slot of time began, and in the slot before. */
struct flow_rate {
	uint64_t since_ns, since_bytes;
	uint32_t last_ns, last_bytes;
};

/* The effect of CNPs on the sender of a flow; allocated at the first CE mark or CNP. */
struct congestion {
	/* The first mark after an interval without marks, until its CNP; 0: there is none. */
	uint64_t marked_ns;
	uint64_t mark_ns, cnp_ns; /* last mark, last CNP; 0: none */
	struct hist *reaction, *interval, *recovery;
	/* An episode: from a CNP until the sender's rate has recovered; times of 0: none. */
	uint64_t begin_ns;
	uint64_t before, lowest; /* bit/s; lowest: UINT64_MAX without a slot */
	uint64_t episodes;	 /* that have both rates */
	double before_sum, lowest_sum;
};

/* The slot of time is over: at a frame of the flow, before it is counted. */
void rate_slot(struct rd_analysis *a, struct flow *f, uint64_t ns);
/* A packet of the flow has a congestion mark. */
void congestion_marked(struct rd_analysis *a, struct flow *f);
/* A CNP for the sender whose packets are the flow. */
void congestion_notified(struct rd_analysis *a, struct flow *f);
/* False if out of memory. *out stays NULL without marks and CNPs. */
bool congestion_result(struct rd_congestion **out, const struct flow *f);
void congestion_free(struct congestion *c);

/* --- pauses (pause.c) ------------------------------------------------------------------------- */

struct pauses;

#define HELD_CLASSES 4 /* that a flow remembers */

/* Gaps that match pauses, of one class each. Allocated at the first one, or packet in a pause. */
struct flow_held {
	unsigned int n;
	struct rd_held of[HELD_CLASSES];
};

/* A MAC control frame, at the current time. */
void pause_take(struct rd_analysis *a, const struct rd_packet *p, const struct rd_frame *frame);
/* A frame of a flow, before it is counted; called if there were pauses. */
void pause_gap(struct rd_analysis *a, struct flow *f, const struct item *it);
/* -1 if out of memory. */
int pauses_result(const struct rd_analysis *a, struct rd_report *r);
/* False if out of memory. *out stays NULL without gaps that fit. */
bool held_result(struct rd_held **out, const struct flow *f);
