/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requests of a flow (request.c, datagram.c) and READs (read.c). */
#pragma once

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
