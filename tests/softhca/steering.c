/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steering: which queue pairs of a port get a frame, by the flows that were created on them. */
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "softhca.h"

void hca_retarget(struct hca *h)
{
	bool any = false;

	for (uint32_t i = 0; i < h->conf->nports; i++) {
		struct port *p = &h->port[i];
		struct qp *qp;

		p->ndests = 0;
		LIST_FOREACH(qp, &h->qps, link)
		{
			struct flow *f;
			bool wanted = false;

			LIST_FOREACH(f, &qp->flows, link)
			wanted |= f->port == p->num;
			wanted |= gateway_wants(p, qp);
			if (wanted && p->ndests < MAX_DESTS)
				p->dest[p->ndests++] = qp;
			if (wanted && qp_receiving(qp))
				p->capturing = true;
		}
		if (!p->ndests) {
			p->capturing = false;
			if (!conf_get()->flowing)
				p->start_ns = p->flow_ns = 0;
		}
		any |= p->capturing;
	}
	h->begun &= any;
}

static bool masked_equal(const uint8_t *at, const uint8_t *val, const uint8_t *mask, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((at[i] ^ val[i]) & mask[i])
			return false;
	return true;
}

struct layers {
	uint16_t type;
	uint8_t proto;
	uint32_t l4; /* offset of the ports, 0 when there are none */
};

static struct layers frame_layers(const struct frame *f)
{
	const uint8_t *p = f->data;
	struct layers l = {0};

	if (f->len < 14)
		return l;
	l.type = (uint16_t)(p[12] << 8 | p[13]);
	if (l.type == 0x0800 && f->len >= 34) {
		l.proto = p[23];
		l.l4 = 14 + (p[14] & 15u) * 4;
	} else if (l.type == 0x86dd && f->len >= 54) {
		l.proto = p[20];
		l.l4 = 54;
	} else {
		l.type = 0;
	}
	if (l.l4 + 4 > f->len)
		l.l4 = 0;
	return l;
}

/* Only what identifies a flow: MACs and type, addresses and protocol, UDP or TCP ports. */
static bool spec_matches(const struct flow_spec *s, const struct frame *f)
{
	const uint8_t *p = f->data, *v = s->val, *m = s->mask;
	struct layers l = frame_layers(f);

	switch (s->type) {
	case IBV_FLOW_SPEC_ETH:
		return f->len >= 14 && masked_equal(p, v, m, 14);
	case IBV_FLOW_SPEC_IPV4:
		return l.type == 0x0800 && masked_equal(p + 26, v, m, 8) &&
		       masked_equal(&l.proto, v + 8, m + 8, 1);
	case IBV_FLOW_SPEC_IPV6:
		return l.type == 0x86dd && masked_equal(p + 22, v, m, 32) &&
		       masked_equal(&l.proto, v + 36, m + 36, 1);
	case IBV_FLOW_SPEC_UDP:
	case IBV_FLOW_SPEC_TCP:
		return l.l4 && l.proto == (s->type == IBV_FLOW_SPEC_UDP ? 17 : 6) &&
		       masked_equal(p + l.l4 + 2, v, m, 2) &&
		       masked_equal(p + l.l4, v + 2, m + 2, 2);
	case IBV_FLOW_SPEC_ACTION_TAG:
		return true;
	default:
		return false;
	}
}

static bool flow_matches(const struct flow *fl, const struct frame *f)
{
	if (fl->type == IBV_FLOW_ATTR_SNIFFER || fl->type == IBV_FLOW_ATTR_ALL_DEFAULT)
		return true;
	if (fl->type == IBV_FLOW_ATTR_MC_DEFAULT)
		return f->data[0] & 1;
	for (uint32_t i = 0; i < fl->nspecs; i++)
		if (!spec_matches(&fl->spec[i], f))
			return false;
	return true;
}

bool qp_wants(const struct port *p, const struct qp *qp, const struct frame *f)
{
	const struct flow *fl;

	LIST_FOREACH(fl, &qp->flows, link)
	if (fl->port == p->num && !qp->deaf && flow_matches(fl, f))
		return true;
	return gateway_copies(p, qp, f);
}

/* The rule goes later than the command that destroys it, if the device is configured so. */
void flow_destroy(struct hca *h, struct flow *f)
{
	f->qp->obj.users--;
	if (!h->conf->linger_ns) {
		LIST_REMOVE(f, link);
		obj_free(&f->obj);
	} else {
		f->until_ns = now_ns() + h->conf->linger_ns;
		f->obj.ctx->obj[f->obj.handle] = NULL;
	}
	hca_retarget(h);
}

void flows_expire(struct hca *h, uint64_t now)
{
	bool any = false;
	struct qp *qp;

	if (!h->conf->linger_ns)
		return;
	LIST_FOREACH(qp, &h->qps, link)
	any |= flows_remove(qp, now);
	if (any)
		hca_retarget(h);
}

bool flows_remove(struct qp *qp, uint64_t now)
{
	struct flow *f = LIST_FIRST(&qp->flows), *next;
	bool any = false;

	for (; f; f = next) {
		next = LIST_NEXT(f, link);
		if (!f->until_ns || f->until_ns > now)
			continue;
		LIST_REMOVE(f, link);
		free(f);
		any = true;
	}
	return any;
}

uint32_t sniffers_count(const struct hca *h, uint32_t port)
{
	const struct flow *f;
	const struct qp *qp;
	uint32_t n = 0;

	LIST_FOREACH(qp, &h->qps, link)
	LIST_FOREACH(f, &qp->flows, link)
	n += f->type == IBV_FLOW_ATTR_SNIFFER && f->port == port && !f->until_ns;
	return n;
}
