/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests that a responder refuses for good (IBTA volume 1, 9.7.5.2.3): which one it was, and what
 * of the data did not arrive. The beginnings of the last messages of all QPs are kept for that.
 */
#include "state.h"
#include <stdlib.h>

#define KEPT	     1024 /* a NAK comes within a round trip */
#define REFUSALS_MAX 1024
#define NOT_NEW	     UINT64_MAX
#define ANY_SPAN     (1 << 20)

struct beginning {
	uint64_t address, frame;
	uint64_t goodput; /* of the flow before this message; NOT_NEW: a retransmission */
	uint32_t flow, psn, span, rkey, length;
	uint8_t verb;
	bool has_address;
};

struct refusal {
	uint32_t flow;
	struct rd_refusal what;
};

void refused_remember(struct rd_analysis *a, const struct flow *f, const struct item *it,
	uint32_t span, enum rd_verb verb, bool fresh)
{
	const struct rd_packet *p = it->p;
	struct beginning *b;
	struct rd_atomic atomic;
	struct rd_reth reth;

	if (!a->beginnings)
		a->beginnings = calloc(KEPT, sizeof(*a->beginnings));
	if (!a->beginnings)
		return;
	b = &a->beginnings[a->beginnings_at++ % KEPT];
	*b = (struct beginning){.frame = it->frame,
		.goodput = fresh ? f->req.goodput : NOT_NEW,
		.flow = f->id.number,
		.psn = p->psn,
		.span = p->op->bits & RD_OP_LAST ? span : ANY_SPAN,
		.verb = (uint8_t)verb};
	if (verb == RD_VERB_ATOMIC && rd_packet_atomic(p, &atomic)) {
		b->has_address = true;
		b->address = atomic.va;
		b->rkey = atomic.rkey;
		b->length = 8;
	} else if (verb != RD_VERB_SEND && verb != RD_VERB_ATOMIC && rd_packet_reth(p, &reth)) {
		b->has_address = true;
		b->address = reth.va;
		b->rkey = reth.rkey;
		b->length = reth.length;
		if (!(p->op->bits & RD_OP_LAST) && p->payload_len)
			b->span = (reth.length - 1) / p->payload_len + 1;
	}
}

/* The message that a PSN is of; the latest one, or the latest one of new data. NULL: not kept. */
static const struct beginning *message_of(
	const struct rd_analysis *a, const struct flow *r, uint32_t psn, bool fresh)
{
	const struct beginning *best = NULL;
	uint32_t n = a->beginnings_at < KEPT ? a->beginnings_at : KEPT;

	for (uint32_t i = 1; i <= n; i++) {
		const struct beginning *b = &a->beginnings[(a->beginnings_at - i) % KEPT];
		int32_t d = psn_diff(psn, b->psn);

		if (b->flow != r->id.number || d < 0 || (uint32_t)d >= b->span ||
			(fresh && b->goodput == NOT_NEW))
			continue;
		if (!best || d < psn_diff(psn, best->psn))
			best = b;
	}
	return best;
}

void refused_take(struct rd_analysis *a, struct flow *r, uint32_t psn)
{
	const struct beginning *b = a->beginnings ? message_of(a, r, psn, false) : NULL;
	struct refusal *list;

	r->ack.refused = true;
	if (b && a->n_refusals < REFUSALS_MAX) {
		list = reallocarray(a->refusals, a->n_refusals + 1, sizeof(*list));
		if (!list)
			return;
		a->refusals = list;
		list[a->n_refusals++] =
			(struct refusal){r->id.number, {.psn = psn,
							       .verb = (enum rd_verb)b->verb,
							       .has_address = b->has_address,
							       .address = b->address,
							       .rkey = b->rkey,
							       .length = b->length,
							       .frame = b->frame}};
	}
	/* Neither this message nor what was sent behind it arrived. */
	b = a->beginnings ? message_of(a, r, psn, true) : NULL;
	if (b && b->goodput <= r->req.goodput)
		r->req.goodput = b->goodput;
}

bool refused_copy(const struct rd_analysis *a, struct rd_side *s, const struct flow *r)
{
	for (size_t i = 0; r->ack.end_nak && i < a->n_refusals; i++)
		if (a->refusals[i].flow == r->id.number) {
			s->refusal = malloc(sizeof(*s->refusal));
			if (s->refusal)
				*s->refusal = a->refusals[i].what;
			return s->refusal != NULL;
		}
	return true;
}

void refused_free(struct rd_analysis *a)
{
	free(a->beginnings);
	free(a->refusals);
}
