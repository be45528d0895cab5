/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The same packets may be in a file more than once: captures of two hosts that were merged, two
 * ports of one host that talk to each other, a host that captures before and after a tunnel. Two
 * copies of a packet are neither duplicated by the network nor a retransmission, so such a flow is
 * followed where it was captured first. But the packets of one flow may also take several ports of
 * a bond: then no frame is a copy. Which of both it is, the other places' frames show.
 */
#include "state.h"

/* The most copies that a flow remembers: so many new packets at other places, without copies, show
 * that it has moved there. */
#define COPIES_MAX 128
#define COPIES_NEW 64 /* for a new flow: as many as are under way between two hosts */
#define FLOWS	   64 /* the newest ones, which a new one is compared with */

/* Without IP identifications, a retransmission at another place is taken for a copy. */
static bool was_seen(const struct flow *f, const struct item *it)
{
	const struct flow *r = f->pair.peer;
	uint32_t psn = it->p->psn;

	if (flow_is_again(f, it))
		return false;
	if (it->p->op->bits & RD_OP_RESPONSE)
		return r && r->ack.acked && psn_diff(psn, r->ack.una) < 0;
	return f->req.started && psn_diff(psn, f->req.next) < 0 &&
	       !(f->trouble && seq_is_hole(&f->trouble->seen, psn));
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

void rd_analysis_ifaces(struct rd_analysis *a, const struct rd_iface *ifaces, unsigned int n)
{
	for (; a->in.n_ifaces < n && a->in.n_ifaces < PLACES; a->in.n_ifaces++) {
		const struct rd_iface *new = &ifaces[a->in.n_ifaces];
		unsigned int i = 0;

		while (i < a->in.n_ifaces &&
			(ifaces[i].section == new->section || ifaces[i].link != new->link ||
				!is_same_text(ifaces[i].name, new->name) ||
				!is_same_text(ifaces[i].hardware, new->hardware) ||
				!is_same_text(ifaces[i].os, new->os)))
			i++;
		a->in.same_iface[a->in.n_ifaces] = (uint8_t)i;
	}
}

/* Whether a capture goes on in another section. One that begins earlier is another capture. */
static bool goes_on(const struct rd_analysis *a, const struct flow *f, const struct item *it)
{
	unsigned int here = it->place >> 1, home = f->place.home >> 1;

	return !((it->place ^ f->place.home) & 1) && here < a->in.n_ifaces &&
	       home < a->in.n_ifaces && a->in.same_iface[here] == a->in.same_iface[home] &&
	       it->ns >= f->traffic.last_ns;
}

bool place_leaves(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	struct flow_place *place = &f->place;

	f->id.outside |= !it->network;
	if (goes_on(a, f, it)) {
		place->home = it->place;
		return false;
	}
	if (was_seen(f, it)) {
		if (place->copies < COPIES_MAX)
			place->copies++;
	} else if (!place->copies) {
		return false;
	} else if (!--place->copies) {
		place->home = it->place;
		a->totals.moved++;
		return false;
	}
	incident_add(&a->copies, 1, it->frame, it->ns);
	if ((it->place ^ place->home) & 1)
		a->totals.tunnels_left++;
	else
		a->totals.copies_left++;
	a->totals.rdma_frames--;
	a->totals.tunnelled -= it->place & 1;
	return true;
}

/* The other flows of its hosts show whether this frame is the first one of its packet. */
void place_new(struct rd_analysis *a, struct flow *f)
{
	size_t n = a->flows.n - 1;

	for (unsigned int i = 0; i < FLOWS && n; i++) {
		const struct flow *g = a->flows.all[--n];

		if ((flow_plain(g) != f->id.back && g->key.k1 != f->key.k1) || !g->place.copies)
			continue;
		f->place = g->place;
		f->place.copies = RD_MIN(f->place.copies, COPIES_NEW);
		return;
	}
}
