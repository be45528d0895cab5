/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds what the report of one capture has of the packets to a QP, whatever the number of QPs. */
#include "sight.h"
#include <rdmadump/hash.h>
#include <stdlib.h>

/* Adds a text and its end; returns the number of words. */
static unsigned int hash_text(struct rd_hash *h, const char *text)
{
	const size_t length = strlen(text) + 1;
	unsigned int words = 0;

	for (size_t i = 0; i < length; i += sizeof(uint64_t), words++) {
		const size_t left = length - i;
		uint64_t word = 0;

		memcpy(&word, text + i, left < sizeof(word) ? left : sizeof(word));
		rd_hash_add(h, word);
	}
	return words;
}

static size_t place_of(const struct sides *s, const char *from, const char *to, uint32_t qp)
{
	struct rd_hash h = rd_hash_begin();
	unsigned int words = hash_text(&h, from);

	words += hash_text(&h, to);
	rd_hash_add(&h, qp);
	return (size_t)rd_hash_end(&h, words + 1) & (s->n_slots - 1);
}

/* The slot of the packets to a QP, in this network or (NULL) any, or an empty one. */
static size_t find(const struct sides *s, const char *from, const char *to, uint32_t qp,
	const uint32_t *network)
{
	size_t i = place_of(s, from, to, qp);

	for (; s->slots[i]; i = (i + 1) & (s->n_slots - 1)) {
		const uint32_t number = s->slots[i] - 1;
		const struct rd_conversation *c = &s->report->conversations[number / 2];
		const struct rd_endpoint *target = &c->end[!(number % 2)];

		if (target->qp == qp && (!network || c->network == *network) &&
			!strcmp(target->address, to) && !strcmp(c->end[number % 2].address, from))
			break;
	}
	return i;
}

bool sides_make(struct sides *s, const struct rd_report *r)
{
	s->report = r;
	for (s->n_slots = 8; s->n_slots < 4 * r->n_conversations; s->n_slots *= 2)
		;
	s->slots = calloc(s->n_slots, sizeof(*s->slots));
	if (!s->slots)
		return false;
	for (size_t i = 0; i < r->n_conversations; i++)
		for (unsigned int side = 0; side < 2; side++) {
			const struct rd_conversation *c = &r->conversations[i];
			size_t at = find(s, c->end[side].address, c->end[!side].address,
				c->end[!side].qp, &c->network);

			if (!s->slots[at]) /* else a busier conversation has it */
				s->slots[at] = (uint32_t)(2 * i + side + 1);
		}
	return true;
}

const struct rd_conversation *sides_find(const struct sides *s, const char *from, const char *to,
	uint32_t qp, uint32_t network, unsigned int *side)
{
	const size_t at = find(s, from, to, qp, network ? &network : NULL);

	if (!s->slots[at])
		return NULL;
	*side = (s->slots[at] - 1) % 2;
	return &s->report->conversations[(s->slots[at] - 1) / 2];
}

const struct rd_owner *sides_owner(const struct sides sides[RD_TAPS], const char *from,
	const char *to, uint32_t qp, uint32_t network, bool receiver, uint32_t *owned,
	bool *not_listed)
{
	*not_listed = false;
	for (int end = 0; end < RD_TAPS; end++) {
		unsigned int side;
		const struct rd_conversation *c =
			sides_find(&sides[end], from, to, qp, network, &side);

		if (!c)
			continue;
		side ^= receiver;
		*owned = c->end[side].qp;
		if (c->owner[side])
			return c->owner[side];
		*not_listed |= c->owner_state[side] == RD_OWNER_NOT_LISTED;
	}
	return NULL;
}

/* From the last one on: one may have the addresses of RoCE v1, another the same of RoCE v2. */
const struct rd_path *ends_path(
	const struct rd_ends_report *r, const char *from, const char *to, uint32_t network)
{
	for (size_t i = r->n_paths; i-- > 0;) {
		const struct rd_path *p = &r->paths[i];

		if ((!p->shared || p->network == network) && !strcmp(p->from, from) &&
			!strcmp(p->to, to))
			return p;
	}
	return NULL;
}

const struct rd_side *side_at(const struct sight *s, enum rd_tap tap)
{
	unsigned int side;
	const struct rd_conversation *c =
		sides_find(&s->sides[tap], s->p->from, s->p->to, s->w->qp, s->w->network, &side);

	return c ? &c->side[side] : NULL;
}
