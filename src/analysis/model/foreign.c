/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Traffic to RoCE's UDP port that is not RoCE, and frames with unknown content. A valid ICRC proves
 * RoCE; without one, the headers must comply with IBTA volume 1, 9.2.
 */
#include "state.h"

#define BTH_RESERVED_6 0x3f /* in the fifth byte, after FECN and BECN */
#define BTH_RESERVED_7 0x7f /* in the ninth byte, after the bit that requests an ACK */

#define LINKTYPE_ERF   197
#define ERF_TYPE_LINK  25 /* flow control of InfiniBand links */
#define PROTO_UDP      17
#define LLC_LENGTH_MAX 1500

/* Whether the payload has a length that this opcode allows. */
static bool payload_fits(const struct rd_packet *p)
{
	unsigned int bits = p->op->bits;
	uint32_t n = p->payload_len;

	if (p->flags & RD_PACKET_FRAGMENT)
		return true;
	if ((p->end - p->bth) % 4)
		return false;
	if (bits & (RD_OP_ACK | RD_OP_ATOMIC | RD_OP_CNP | RD_OP_FLUSH) ||
		(bits & RD_OP_READ && !(bits & RD_OP_RESPONSE)))
		return bits & (RD_OP_ATOMIC | RD_OP_FLUSH) ? n <= 8 : !n;
	/* All packets of a message but the last are as long as the path MTU. */
	if (!(bits & RD_OP_LAST))
		return !p->pad && n >= 256 && n <= 4096 && !(n & (n - 1));
	return n <= 4096;
}

static bool is_plausible(const struct rd_packet *p)
{
	const uint8_t *bth = p->data + p->bth;

	return p->op->name && !p->tver && p->dest_qp && !(p->flags & RD_PACKET_MALFORMED) &&
	       !(bth[4] & BTH_RESERVED_6) && !(bth[8] & BTH_RESERVED_7) && payload_fits(p);
}

bool foreign_may_be(const struct rd_packet *p)
{
	return p->kind == RD_KIND_ROCE2 && !is_plausible(p);
}

bool foreign_take(struct rd_analysis *a, const struct item *it)
{
	struct flow *f;

	if (!foreign_may_be(it->p))
		return false;
	f = flow_made(a, it);
	if (f && flow_is_proven(f))
		return false;
	if (f && f->all.implausible < UINT16_MAX)
		f->all.implausible++;
	incident_add(&a->foreign, 1, a->frame, a->ns);
	a->totals.foreign++;
	return true;
}

/* --- not understood --------------------------------------------------------------------------- */

static void unread_add(struct rd_analysis *a, enum rd_unread_why why, int number)
{
	struct rd_unread *u = RD_FIND(
		known, a->unread, a->n_unread, known->why == why && known->number == number);

	if (!u && a->n_unread == RD_UNREAD_KINDS) {
		u = &a->unread[RD_UNREAD_KINDS - 1];
		u->number = -1;
	} else if (!u) {
		u = &a->unread[a->n_unread++];
		u->why = why;
		u->number = number;
	}
	incident_add(&u->frames, 1, a->frame, a->ns);
	a->totals.unread++;
}

/* Whether what follows an Ethertype may be RDMA traffic all the same: tunnels, encryption. */
static bool is_opaque(uint16_t type)
{
	return rd_is_mpls(type) || type == 0x8864 || type == 0x88e5 || type == 0x894f ||
	       (type > LLC_LENGTH_MAX && !rd_ethertype_name(type)) || !type;
}

void unread_take(struct rd_analysis *a, const struct rd_packet *p)
{
	if (p->op || p->flags & RD_PACKET_LINK)
		return;
	if (a->in.linktype >= 0) {
		if (a->in.linktype != LINKTYPE_ERF || p->caplen <= 8 ||
			(p->data[8] & 0x7f) != ERF_TYPE_LINK)
			unread_add(a, RD_UNREAD_LINK, a->in.linktype);
	} else if (p->flags & RD_PACKET_CUT) {
		if (!p->l4 || p->proto == PROTO_UDP)
			unread_add(a, RD_UNREAD_CUT, 0);
	} else if (p->net == RD_NET_NONE && is_opaque(p->ethertype)) {
		unread_add(a, RD_UNREAD_TYPE, p->ethertype);
	}
}
