/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which programs and ranks the QPs of hosts belong to. */
#include "../ends/ends.h"
#include "points.h"
#include <stdlib.h>

/* --- owners of the peers' QPs ---------------------------------------------------------------- */

static void give_owner(struct rd_conversation *c, unsigned int side, const struct rd_owner *known)
{
	struct rd_owner *copy = known ? malloc(sizeof(*copy)) : NULL;

	if (!copy)
		return;
	*copy = *known;
	json_incref(copy->details);
	c->owner[side] = copy;
	c->owner_state[side] = RD_OWNER_KNOWN;
}

/*
 * Only the file of a QP's own host has its owner: the other capture's conversation of the same two
 * QPs gets it. One of them may be of another process later, with another peer.
 */
static void give_owners(struct rd_report *to, const struct rd_report *other)
{
	for (size_t i = 0; i < to->n_conversations; i++)
		for (unsigned int side = 0; side < 2; side++) {
			struct rd_conversation *c = &to->conversations[i];
			const struct rd_endpoint *own = &c->end[side], *peer = &c->end[!side];
			unsigned int sender;
			const struct rd_conversation *same = conversation_to(
				other, peer->address, own->address, own->qp, c->network, &sender);

			if (!c->owner[side] && same && same->end[sender].qp == peer->qp)
				give_owner(c, side, same->owner[!sender]);
		}
}

static void give_peers(struct rd_points *p)
{
	for (size_t i = 0; i < p->n_pairs; i++) {
		const unsigned int *of = p->pairs[i].capture;

		for (int end = 0; end < RD_TAPS; end++)
			give_owners(p->captures[of[end]].report, p->captures[of[!end]].report);
	}
}

/* --- programs of hosts ----------------------------------------------------------------------- */

static int by_program(const struct rd_points_owner *a, const struct rd_points_owner *b)
{
	return RD_ORDER(a->host, b->host) ?: RD_ORDER(!a->who, !b->who)
		?: !a->who ? 0
		: strcmp(a->who->comm, b->who->comm)
			?: strverscmp(rd_owner_job(a->who) ?: "", rd_owner_job(b->who) ?: "");
}

static int by_process(const void *x, const void *y)
{
	const struct rd_points_owner *a = x, *b = y;
	const int order = by_program(a, b);

	if (order || !a->who)
		return order;
	return RD_ORDER(a->who->rank, b->who->rank) ?: RD_ORDER(a->who->pid, b->who->pid)
		?: RD_ORDER(a->who->start_ticks, b->who->start_ticks);
}

static int by_place(const void *x, const void *y)
{
	const struct rd_points_owner *a = x, *b = y;

	return by_process(x, y) ?: RD_ORDER(a->address, b->address);
}

static int list_owners(struct rd_points *p)
{
	size_t n = 0, to = 0;

	for (size_t i = 0; i < p->n_captures; i++)
		n += 2 * p->captures[i].report->n_conversations;
	p->owners = calloc(n + 1, sizeof(*p->owners));
	if (!p->owners)
		return -1;
	n = 0;
	for (size_t i = 0; i < p->n_captures; i++) {
		const struct rd_report *r = p->captures[i].report;

		for (size_t k = 0; k < 2 * r->n_conversations; k++) {
			const struct rd_conversation *c = &r->conversations[k / 2];
			const uint32_t at = points_address(p, c->end[k % 2].address);

			/* QP 0 and QP 1 are the kernel's, for management. */
			if (c->end[k % 2].qp > 1)
				p->owners[n++] = (struct rd_points_owner){
					p->host_of[at], at, c->owner[k % 2]};
		}
	}
	qsort(p->owners, n, sizeof(*p->owners), by_place);
	for (size_t i = 0; i < n; i++)
		if (!i || by_place(&p->owners[i], &p->owners[to - 1]) != 0)
			p->owners[to++] = p->owners[i];
	p->n_owners = to;
	return 0;
}

static int list_programs(struct rd_points *p)
{
	p->programs = calloc(p->n_owners + 1, sizeof(*p->programs));
	for (size_t i = 0; i < p->n_owners && p->programs; i++) {
		const struct rd_points_owner *own = &p->owners[i];

		if (!own->who)
			continue;
		if (!i || by_program(own - 1, own) != 0)
			p->programs[p->n_programs++] =
				(struct rd_points_program){.owner = own, .host = own->host};
		else if (by_process(own - 1, own) == 0)
			p->programs[p->n_programs - 1].n_processes--;
		p->programs[p->n_programs - 1].n_owners++;
		p->programs[p->n_programs - 1].n_processes++;
	}
	return p->programs ? 0 : -1;
}

const struct rd_owner *points_owner(const struct rd_points *p, bool address, uint32_t place)
{
	const struct rd_points_owner *only = NULL;

	for (size_t i = 0; i < p->n_owners; i++) {
		const struct rd_points_owner *own = &p->owners[i];

		if ((address ? own->address : own->host) != place)
			continue;
		if (!own->who || (only && by_process(only, own) != 0))
			return NULL;
		only = own;
	}
	return only ? only->who : NULL;
}

int points_owners(struct rd_points *p)
{
	give_peers(p);
	if (list_owners(p) || list_programs(p))
		return -1;
	if (p->common.faulty)
		p->common.owner = points_owner(p, p->common.address, p->common.place);
	return 0;
}
