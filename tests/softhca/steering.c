/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steering: which queue pairs of a port get a frame, by the flows that were created on them. */
#include "softhca.h"

void hca_retarget(struct hca *h)
{
	bool any = false;

	for (uint32_t i = 0; i < h->conf->nports; i++) {
		struct port *p = &h->port[i];
		struct qp *qp;

		p->ndests = 0;
		LIST_FOREACH (qp, &h->qps, link) {
			struct flow *f;
			bool wanted = false;

			LIST_FOREACH (f, &qp->flows, link)
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

bool qp_wants(const struct port *p, const struct qp *qp, const struct frame *f)
{
	const struct flow *fl;

	LIST_FOREACH (fl, &qp->flows, link)
		if (fl->port == p->num && !qp->deaf)
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
	LIST_FOREACH (qp, &h->qps, link)
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

	LIST_FOREACH (qp, &h->qps, link)
		LIST_FOREACH (f, &qp->flows, link)
			n += f->port == port && !f->until_ns;
	return n;
}
