/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requests of a flow (request.c, datagram.c), READs (read.c) and delayed messages (delayed.c).
 */
#ifndef RDMADUMP_ANALYSIS_REQUEST_H
#define RDMADUMP_ANALYSIS_REQUEST_H

#include "flow.h"

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
/*
 * A packet was retransmitted: counts its message if it is the last packet and the message is not
 * counted yet (delayed.c).
 */
void delayed_packet(struct rd_analysis *a, struct flow *f, struct trouble *t, const struct item *it,
	uint32_t span);
/* A round ended with a new packet: counts the message that it continues. */
void delayed_rest(struct rd_analysis *a, struct flow *f, struct trouble *t);
/* The packet before PSN `end`, the only one of its round, was not a retransmission. */
void delayed_take_back(struct flow *f, struct trouble *t, uint32_t end);
/* Messages of which the last packet was captured. */
uint64_t messages_of(const struct flow *f);
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

#endif
