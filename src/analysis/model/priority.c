/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Priorities of a flow's packets: DSCP and ECN (RFC 2474, RFC 3168), priority code point of the
 * VLAN tag (IEEE 802.1Q). CNPs have a DSCP of their own on many adapters.
 */
#include "state.h"

#define ECN_MARK   3
#define ETHER_LEN  14 /* offset of the network header; the same after one VLAN tag */
#define ETHER_VLAN 18
#define VLAN_ID	   0xfff

static void pcp_take(struct flow_priority *q, unsigned int pcp)
{
	if (pcp == PCP_NONE)
		q->untagged = true;
	else if (q->pcp == PCP_NONE)
		q->pcp = (uint8_t)pcp;
	else if (q->pcp != pcp)
		q->pcp_varies = true;
}

/* A tag with VLAN 0 has a priority only. */
static void vlan_take(struct flow_priority *q, unsigned int vlan)
{
	if (vlan == q->vlan)
		return;
	q->vlans_differ |= q->untagged || q->pcp != PCP_NONE;
	q->vlan = (uint16_t)vlan;
}

void priority_take(struct rd_analysis *a, struct flow *f, const struct rd_packet *p)
{
	struct flow_priority *q = &f->priority;
	unsigned int tclass = rd_packet_tclass(p), dscp = tclass >> 2, ecn = tclass & 3;
	bool tagged = a->in.link != RD_LINK_SLL2 && p->l3 >= ETHER_VLAN &&
		      rd_is_vlan(rd_be16(p->data + 12));

	if (rd_packet_transport(p) == RD_CNP) {
		q->cnp_dscp = (uint8_t)dscp;
		q->cnp_known = p->net != RD_NET_NONE;
		return;
	}
	vlan_take(q, tagged ? rd_be16(p->data + 14) & VLAN_ID : 0);
	pcp_take(q, tagged ? p->data[14] >> 5 : PCP_NONE);
	if (p->net == RD_NET_NONE)
		return;
	if (!q->known) {
		q->known = true;
		q->dscp = (uint8_t)dscp;
	} else if (dscp != q->dscp) {
		q->others += q->others < UINT32_MAX;
		q->other_dscp = (uint8_t)dscp;
	}
	q->ecn |= (uint8_t)(1U << ecn);
	if (q->tclass == TCLASS_NONE && ecn != ECN_MARK && p->l3 == ETHER_LEN)
		q->tclass = (uint16_t)tclass;
}

struct rd_priority priority_result(const struct flow_priority *q, uint64_t frames)
{
	struct rd_priority r = {
		.dscp = -1, .other_dscp = -1, .cnp_dscp = -1, .pcp = -1, .class = -1};

	r.ecn = q->ecn;
	r.untagged = q->untagged;
	r.pcp_varies = q->pcp_varies;
	if (q->known)
		r.dscp = q->dscp;
	if (q->pcp != PCP_NONE)
		r.pcp = q->pcp;
	if (q->cnp_known)
		r.cnp_dscp = q->cnp_dscp;
	if (!q->others)
		return r;
	r.other_dscp = q->other_dscp;
	r.others = q->others;
	if (q->others > frames / 2) { /* the first packet was the exception */
		r.dscp = q->other_dscp;
		r.other_dscp = q->dscp;
		r.others = frames - q->others;
	}
	return r;
}
