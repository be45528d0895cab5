/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds what a report has of the packets to a QP, whatever the number of QPs. */
#include "verdict.h"
#include <rdmadump/hash.h>
#include <stdlib.h>

static size_t slot_of(const struct rd_report *r, const char *from, const char *to, uint32_t qp)
{
	struct rd_hash h = rd_hash_begin();
	unsigned int words = rd_hash_add_bytes(&h, from, strlen(from));

	words += rd_hash_add_bytes(&h, to, strlen(to));
	rd_hash_add(&h, qp);
	return (size_t)rd_hash_end(&h, words + 1) & (r->n_flow_slots - 1);
}

/* The slot of the packets to a QP, in this network or (NULL) any, or an empty one. */
static size_t find(const struct rd_report *r, const char *from, const char *to, uint32_t qp,
	const uint32_t *network)
{
	size_t i = slot_of(r, from, to, qp);

	for (; r->flow_slots[i]; i = (i + 1) & (r->n_flow_slots - 1)) {
		const uint32_t number = r->flow_slots[i] - 1;
		const struct rd_conversation *c = &r->conversations[number / 2];
		const struct rd_endpoint *target = &c->end[!(number % 2)];

		if (target->qp == qp && (!network || c->network == *network) &&
			!strcmp(target->address, to) && !strcmp(c->end[number % 2].address, from))
			break;
	}
	return i;
}

int flows_make(struct rd_report *r)
{
	for (r->n_flow_slots = 8; r->n_flow_slots < 4 * r->n_conversations; r->n_flow_slots *= 2)
		;
	r->flow_slots = calloc(r->n_flow_slots, sizeof(*r->flow_slots));
	if (!r->flow_slots)
		return -1;
	for (size_t i = 0; i < r->n_conversations; i++)
		for (unsigned int side = 0; side < 2; side++) {
			const struct rd_conversation *c = &r->conversations[i];
			size_t at = find(r, c->end[side].address, c->end[!side].address,
				c->end[!side].qp, &c->network);

			if (!r->flow_slots[at]) /* else a busier conversation has it */
				r->flow_slots[at] = (uint32_t)(2 * i + side + 1);
		}
	return 0;
}

const struct rd_conversation *conversation_to(const struct rd_report *r, const char *from,
	const char *to, uint32_t qp, uint32_t network, unsigned int *side)
{
	const size_t at = find(r, from, to, qp, network ? &network : NULL);

	if (!r->flow_slots[at])
		return NULL;
	*side = (r->flow_slots[at] - 1) % 2;
	return &r->conversations[(r->flow_slots[at] - 1) / 2];
}
