/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts messages and their bytes, from the requests that they consist of. Hot path. */
#pragma once

#include "app.h"
#include "refused.h"

static inline void message_done(struct rd_verb_use *v, uint32_t bytes)
{
	v->messages++;
	if (bytes == MESSAGE_UNSIZED)
		return;
	v->smallest = RD_MIN(v->smallest, bytes);
	v->largest = RD_MAX(v->largest, bytes);
}

/*
 * Counts a new packet as part of its message, before its goodput is counted. `behind`: packets of
 * later PSNs were captured before, maybe of later messages, so that only the sizes of its whole
 * message, if it is one packet, and of itself are known. `whole`: only whole messages count as
 * bytes; else each packet does, since those that are missing now may be retransmitted.
 */
static inline __attribute__((always_inline)) void message_take(
	struct rd_analysis *a, struct flow *f, const struct item *it, bool behind, bool whole)
{
	const struct rd_packet *p = it->p;
	enum rd_verb verb = verb_of(p->op);
	struct rd_verb_use *use = f->req.verb_at[verb] ? &f->req.verbs[f->req.verb_at[verb] - 1]
						       : flow_verb(a, f, verb);
	uint32_t payload = p->payload_len, size = f->req.message_bytes;
	struct rd_reth reth;

	if (p->op->bits & RD_OP_FIRST) {
		size = 0;
		f->req.message_ns = it->ns;
		refused_remember(a, f, it, verb);
		if (verb == RD_VERB_SEND && f->app != &app_none)
			app_send(a, f, it);
	}
	if (size != MESSAGE_UNSIZED)
		size += payload;
	if (!behind)
		f->req.message_bytes = size;
	else if (!(p->op->bits & RD_OP_FIRST))
		size = MESSAGE_UNSIZED;
	if (!(p->op->bits & RD_OP_LAST) && payload > f->req.mtu)
		f->req.mtu = payload;
	if (verb == RD_VERB_READ) {
		size = rd_packet_reth(p, &reth) ? reth.length : MESSAGE_UNSIZED; /* cut */
		payload = size == MESSAGE_UNSIZED ? 0 : size;
	} else if (verb == RD_VERB_ATOMIC) {
		payload = size = 8;
	}
	if (!use)
		return;
	use->packets++;
	if (!whole)
		use->bytes += payload;
	else if (p->op->bits & RD_OP_LAST)
		use->bytes += size;
	if (p->op->bits & RD_OP_LAST)
		message_done(use, size);
}
