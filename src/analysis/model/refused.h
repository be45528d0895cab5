/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests that a responder refuses with a NAK that ends the QP (refused.c). */
#pragma once

#include "state.h"

/* A NAK comes within a round trip. Few enough to stay in a processor's first cache. */
#define BEGINNINGS     256
#define WITH_HEAD      0x100
#define BEGINNING_HEAD 32 /* at most that of an XRC atomic; LRH, BTH and RETH are longer */

/* The first packet of a message. */
struct beginning {
	const struct flow *flow;
	uint64_t frame, goodput; /* of the flow before this message */
	uint32_t psn;
	uint16_t payload;	      /* bytes of this packet */
	uint16_t opcode;	      /* and WITH_HEAD */
	uint8_t head[BEGINNING_HEAD]; /* bytes before the payload */
};

/*
 * Keeps the first packet of a message, before its payload is counted. Hot path: it only
 * copies; the headers are read when a NAK refers to them.
 */
static inline void refused_remember(
	struct rd_analysis *a, const struct flow *f, const struct item *it, enum rd_verb verb)
{
	struct beginning *b = &a->refused.beginning[a->refused.at++ % BEGINNINGS];
	const struct rd_packet *p = it->p;

	b->payload = (uint16_t)p->payload_len;
	b->psn = p->psn;
	b->flow = f;
	b->frame = it->frame;
	b->goodput = f->req.goodput;
	b->opcode = p->opcode;
	if (verb != RD_VERB_SEND && !(p->flags & (RD_PACKET_CUT | RD_PACKET_MALFORMED))) {
		b->opcode |= WITH_HEAD;
		memcpy(b->head, p->data + p->payload - BEGINNING_HEAD, sizeof(b->head));
	}
}

/* A NAK that ends the QP, for this PSN of flow r. */
void refused_take(struct rd_analysis *a, struct flow *r, uint32_t psn);
/*
 * Whether the packet with this PSN, of the latest message of flow r that has it, needs no posted
 * receive. False if it is unknown, and for the last packet of a WRITE with several: it may have
 * immediate data.
 */
bool refused_needs_no_receive(const struct rd_analysis *a, const struct flow *r, uint32_t psn);
/* Copies the refused requests of flow r into its side. False if out of memory. */
bool refused_copy(const struct rd_analysis *a, struct rd_side *s, const struct flow *r);
