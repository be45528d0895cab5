/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests that a responder refuses for good (IBTA volume 1, 9.7.5.2.3): which one it was, and what
 * of the data did not arrive. The beginnings of the last messages of all QPs are kept for that.
 */
#include "refused.h"
#include "request.h"
#include <rdmadump/memory.h>
#include <stdlib.h>

#define REFUSALS_MAX	1024
#define SPAN_UNKNOWN	(1 << 20)
#define ATOMIC_LENGTH	8
#define ADDRESS_AND_KEY 12

struct refusal {
	const struct flow *flow;
	struct rd_refusal what;
};

static const struct rd_opcode *opcode_of(const struct beginning *b)
{
	return &rd_opcodes[b->opcode & 0xff];
}

/* The RETH or AtomicETH; NULL: it has none, or none was captured. */
static const uint8_t *key_of(const struct beginning *b)
{
	const struct rd_opcode *op = opcode_of(b);
	size_t at = BEGINNING_HEAD - op->length;

	for (size_t i = 0; b->opcode & WITH_HEAD && i < sizeof(op->headers) && op->headers[i];
		i++) {
		enum rd_header h = (enum rd_header)op->headers[i];

		if (h == RD_H_RETH || h == RD_H_ATOMICETH)
			return b->head + at;
		at += rd_header_lengths[h];
	}
	return NULL;
}

static uint32_t length_of(const struct beginning *b, const uint8_t *key)
{
	return verb_of(opcode_of(b)) == RD_VERB_ATOMIC ? ATOMIC_LENGTH
						       : rd_be32(key + ADDRESS_AND_KEY);
}

/* How many PSNs the message has. */
static uint32_t span_of(const struct beginning *b)
{
	const struct rd_opcode *op = opcode_of(b);
	const uint8_t *key = key_of(b);
	uint32_t each = op->bits & RD_OP_READ ? b->flow->req.mtu : b->payload, length;

	if (op->bits & RD_OP_LAST && !(op->bits & RD_OP_READ))
		return 1;
	if (!key || !each)
		return SPAN_UNKNOWN;
	length = length_of(b, key);
	return length ? (length - 1) / each + 1 : 1;
}

/* Whether one is the other one again; else another connection has used the PSN. */
static bool is_again(const struct beginning *x, const struct beginning *y)
{
	return x->opcode == y->opcode && x->payload == y->payload &&
	       (!key_of(x) || !memcmp(key_of(x), key_of(y), ADDRESS_AND_KEY + 4));
}

/* The latest message that this PSN is of, the first time that it was sent. NULL: not kept. */
static const struct beginning *message_of(
	const struct rd_analysis *a, const struct flow *r, uint32_t psn)
{
	uint32_t n = a->refused.at < BEGINNINGS ? a->refused.at : BEGINNINGS;
	const struct beginning *best = NULL;

	for (uint32_t i = 1; i <= n; i++) {
		const struct beginning *b = &a->refused.beginning[(a->refused.at - i) % BEGINNINGS];
		int32_t d = psn_diff(psn, b->psn);

		if (b->flow != r || d < 0 || (uint32_t)d >= span_of(b))
			continue;
		if (!best || d < psn_diff(psn, best->psn) ||
			(b->psn == best->psn && is_again(b, best)))
			best = b;
	}
	return best;
}

static void add(struct rd_analysis *a, const struct beginning *b, uint32_t psn)
{
	struct refusal *made = rd_append(&a->refused.request, a->refused.n, sizeof(*made));
	const uint8_t *key = key_of(b);

	if (!made)
		return;
	a->refused.n++;
	*made = (struct refusal){
		b->flow, {.psn = psn, .verb = verb_of(opcode_of(b)), .frame = b->frame}};
	if (!key)
		return;
	made->what.has_address = true;
	made->what.address = rd_be64(key);
	made->what.rkey = rd_be32(key + 8);
	made->what.length = length_of(b, key);
}

void refused_take(struct rd_analysis *a, struct flow *r, uint32_t psn)
{
	const struct beginning *b = message_of(a, r, psn);

	r->ack.refused = true;
	if (!b)
		return;
	if (a->refused.n < REFUSALS_MAX)
		add(a, b, psn);
	/* Neither this message nor the packets sent after it arrived. */
	r->req.goodput = RD_MIN(r->req.goodput, b->goodput);
}

bool refused_needs_no_receive(const struct rd_analysis *a, const struct flow *r, uint32_t psn)
{
	const struct beginning *b = message_of(a, r, psn);
	const struct rd_opcode *op = b ? opcode_of(b) : NULL;

	return op && !opcode_needs_receive(op) && (!(op->bits & RD_OP_WRITE) || psn == b->psn);
}

bool refused_copy(const struct rd_analysis *a, struct rd_side *s, const struct flow *r)
{
	const struct refusal *known = RD_FIND(
		one, a->refused.request, r->ack.ever_ended ? a->refused.n : 0, one->flow == r);

	s->refusal = known ? malloc(sizeof(*s->refusal)) : NULL;
	if (s->refusal)
		*s->refusal = known->what;
	return !known || s->refusal;
}
