/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which process had a queue pair open, by the facts of the file. */
#include "facts.h"
#include <rdmadump/hash.h>
#include <stdlib.h>

#define FIRST 256
#define MOST  (1U << 18)

static struct qp_owner *slot(const struct owners *o, uint32_t qp, uint32_t port)
{
	size_t i = (size_t)rd_hash2(qp, port) & o->mask;

	while (o->list[i].qp && (o->list[i].qp != qp || o->list[i].port != port))
		i = (i + 1) & o->mask;
	return &o->list[i];
}

/* Room for one more. */
static bool grow(struct owners *o)
{
	size_t n = o->list ? o->mask + 1 : 0, room = n ? n * 2 : FIRST;
	struct qp_owner *old = o->list;

	if (old && o->n * 2 < o->mask)
		return true;
	if (room > MOST)
		return false;
	o->list = calloc(room, sizeof(*o->list));
	if (!o->list) {
		o->list = old;
		return false;
	}
	o->mask = room - 1;
	for (size_t i = 0; i < n; i++)
		if (old[i].qp)
			*slot(o, old[i].qp, old[i].port) = old[i];
	free(old);
	return true;
}

bool owner_add(struct owners *o, uint32_t qp, uint32_t port, const struct rd_owner *who)
{
	struct qp_owner *own;

	if (!grow(o))
		return false;
	own = slot(o, qp, port);
	if (!own->qp) {
		*own = (struct qp_owner){qp, port, false, *who};
		o->n++;
	} else if (own->who.pid != who->pid || strcmp(own->who.comm, who->comm) != 0) {
		own->differs = true;
	}
	return true;
}

struct rd_owner *owner_of(const struct rd_analysis *a, const struct rd_endpoint *e)
{
	const struct facts_port *p = e->qp == RD_QP_UNKNOWN ? NULL : facts_port_at(a, e->address);
	const struct qp_owner *own;
	struct rd_owner *copy;

	if (!p || !a->facts->owners.list)
		return NULL;
	own = slot(&a->facts->owners, e->qp, (uint32_t)(p - a->facts->ports));
	if (!own->qp || own->differs)
		return NULL;
	copy = malloc(sizeof(*copy));
	if (copy)
		*copy = own->who;
	return copy;
}
