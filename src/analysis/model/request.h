/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requests of a flow (request.c, datagram.c) and READs (read.c); the responses to them
 * (response.c, nak.c), and what both mean for the requests (acknowledge.c).
 */
#pragma once

#include "state.h"

/* Requests of RC and XRC (request.c). */
void request_rc(struct rd_analysis *a, struct flow *f, const struct item *it);
/*
 * Whether a PSN at distance d from the next one is so far away that it belongs to a new connection
 * of a reused QP.
 */
bool request_restarts(const struct flow *f, const struct rd_packet *p, int32_t d);
/* UC and UD (datagram.c). */
void request_uc(struct rd_analysis *a, struct flow *f, const struct item *it);
void datagram_init(struct rd_analysis *a);
void request_datagram(struct rd_analysis *a, struct flow *f, const struct item *it);
/* PSNs of a READ request (read.c); 1 while the span is unknown. */
uint32_t read_span(struct flow *f, const struct rd_packet *p);
/* Whether it requests the last responses of an earlier READ, whose first ones were not captured. */
bool read_is_rest(const struct flow *f, uint32_t psn, uint32_t span);
/* The packet after a READ shows its number of responses. */
void read_followed(struct flow *f, const struct rd_packet *p);
/* The path MTU became known, and with it the span of a READ. */
void request_learn_mtu(struct flow *f, uint32_t mtu);
/* All data of the last READ fits into one response. */
void request_read_is_single(struct flow *f);
/* Counts pending late packets as reordered: no round followed. */
void request_settle(struct rd_analysis *a, struct flow *f);
/* Whether this request uses a posted receive; of a WRITE with several packets, the last one. */
static inline bool opcode_needs_receive(const struct rd_opcode *op)
{
	for (size_t i = 0; op->bits & RD_OP_WRITE && i < sizeof(op->headers); i++)
		if (op->headers[i] == RD_H_IMMDT)
			return true;
	return op->bits & RD_OP_SEND;
}

/* Applies the responses of a flow to the requests of its peer (acknowledge.c). */

#define FAR (1 << 20) /* packets: larger than any window; the PSN belongs to other requests */

/* All requests before `upto` are acknowledged. False: impossible for this flow. */
bool acknowledge(struct rd_analysis *a, struct flow *r, uint32_t upto, uint64_t ns);

/* The requester goes on with the rest of a READ, from `psn` (read_is_rest()). */
void acknowledge_rest(struct rd_analysis *a, struct flow *r, uint32_t psn, uint64_t ns);
/* A READ or atomic response is missing: the requester drops those after it. */
void gap_begin(struct rd_analysis *a, struct flow *r, uint32_t psn);
/* Another one is missing, while it is not known whether the first one is requested again. */
void gap_more(const struct rd_analysis *a, struct flow *r);
/*
 * A response after a missing one. If the requester does not retransmit, it received that one, and
 * the capture missed it.
 */
void gap_passed(struct rd_analysis *a, struct flow *r);

/*
 * Shortest time from a request to its first response; UINT64_MAX: unknown. *n: how many responses
 * were measured.
 */
uint64_t shortest_response(const struct flow *r, uint64_t *n);

/* The response to what the last round repeats was on its way when that began. */
void round_crossed(struct rd_analysis *a, struct flow *f);

/* The shortest of such times, plus 1; 0: none yet. */
static inline void shortest(uint32_t *least, uint64_t from, uint64_t to)
{
	if (to >= from && to - from < UINT32_MAX && (!*least || to - from < *least))
		*least = (uint32_t)(to - from + 1);
}

/* A response of any kind: the receiver is alive. */
static inline void responded(const struct rd_analysis *a, struct flow *r)
{
	r->round.attempts = 0;
	if (!r->ack.ended)
		r->ack.end_frame = a->frame;
}

/* Responses of RC and XRC; CNPs, which go the same way (response.c). */
void response_rc(struct rd_analysis *a, struct flow *f, const struct item *it);
void response_cnp(struct rd_analysis *a, struct flow *f, const struct item *it);

/* A NAK p (nak.c) in `f` to requests of `r`, which may be NULL; `value`: its syndrome's code. */
void nak_take(struct rd_analysis *a, struct flow *f, struct flow *r, const struct rd_packet *p,
	unsigned int value);
/* The same for an RNR NAK; `value`: the timer in its syndrome. */
void nak_not_ready(struct rd_analysis *a, struct flow *f, struct flow *r, const struct rd_packet *p,
	unsigned int value);
