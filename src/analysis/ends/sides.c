/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the report of each capture alone has of a flow between two. */
#include "ends.h"

const struct rd_owner *sides_owner(const struct rd_report *const reports[RD_TAPS], const char *from,
	const char *to, uint32_t qp, uint32_t network, bool receiver, uint32_t *owned,
	bool *not_listed)
{
	*not_listed = false;
	for (int end = 0; end < RD_TAPS; end++) {
		unsigned int side;
		const struct rd_conversation *c =
			conversation_to(reports[end], from, to, qp, network, &side);

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

const struct rd_side *side_in(const struct rd_report *r, const struct rd_path *p, uint32_t qp)
{
	unsigned int side;
	const struct rd_conversation *c =
		conversation_to(r, p->from, p->to, qp, p->shared ? p->network : 0, &side);

	return c ? &c->side[side] : NULL;
}

const struct rd_side *side_at(const struct sight *s, enum rd_tap tap)
{
	return side_in(s->reports[tap], s->p, s->w->qp);
}
