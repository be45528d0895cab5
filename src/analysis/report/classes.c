/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which priority the settings of a port lead to: of the ports that the file has facts of. */
#include "../model/facts.h"
#include "report.h"

/* Of the port of either end; NULL: unknown. */
static const struct facts_dcb *dcb_of(const struct rd_analysis *a, const struct rd_conversation *c)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct facts_port *p = facts_port_at(a, c->end[i].address);

		if (p && p->dcb.known)
			return &p->dcb;
	}
	return NULL;
}

/* Only where nearly all packets of the side have one value. */
static int class_of(const struct facts_dcb *d, const struct rd_side *s)
{
	const struct rd_priority *p = &s->priority;

	if (d->pcp && p->pcp >= 0 && (d->pcp_first || !d->dscp || p->dscp < 0))
		return p->pcp_varies || p->untagged ? -1 : p->pcp;
	if (!d->dscp || p->dscp < 0 || p->others >= s->traffic.frames / 16 + 1)
		return -1;
	return d->of[p->dscp];
}

void classes_fill(const struct rd_analysis *a, struct rd_report *r)
{
	for (size_t i = 0; a->facts && i < r->n_conversations; i++) {
		struct rd_conversation *c = &r->conversations[i];
		const struct facts_dcb *d = dcb_of(a, c);

		for (unsigned int k = 0; d && k < 2; k++) {
			if (!c->side[k].seen)
				continue;
			c->side[k].priority.class = (int16_t)class_of(d, &c->side[k]);
			c->side[k].priority.pfc = d->pfc;
		}
	}
}
