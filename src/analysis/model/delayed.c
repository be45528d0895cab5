/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages that retransmission rounds delayed: those whose last packet was retransmitted, and the
 * one that was under way when a round began. Each counts once, however many rounds it needed; where
 * that is not sure, it does not count.
 */
#include "request.h"

uint64_t messages_of(const struct flow *f)
{
	uint64_t sum = 0;

	for (unsigned int v = 0; v < RD_VERB_COUNT; v++)
		if (f->req.verb_at[v])
			sum += f->req.verbs[f->req.verb_at[v] - 1].messages;
	return sum;
}

void delayed_packet(struct rd_analysis *a, struct flow *f, struct trouble *t, const struct item *it,
	uint32_t span)
{
	const uint32_t end = psn_add(it->p->psn, span);

	t->within = !(it->p->op->bits & RD_OP_LAST);
	if (t->within || (t->any_delayed && psn_diff(end, t->delayed_end) <= 0))
		return;
	t->any_delayed = true;
	t->delayed_end = end;
	/* It may be the message that delayed_rest() counted. */
	if (!t->rest_delayed)
		flow_incident(a, f, RD_INC_DELAYED, 1);
	t->rest_delayed = false;
}

void delayed_rest(struct rd_analysis *a, struct flow *f, struct trouble *t)
{
	const uint64_t number = messages_of(f);

	if (!t->within || (t->rest_delayed && t->rest == number))
		return;
	t->rest_delayed = true;
	t->rest = number;
	flow_incident(a, f, RD_INC_DELAYED, 1);
}

void delayed_take_back(struct flow *f, struct trouble *t, uint32_t end)
{
	if (t->any_delayed && t->delayed_end == end)
		flow_take_back(f, RD_INC_DELAYED);
}
