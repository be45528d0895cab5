/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the leg of a flow, and keeps the largest burst towards each host. */
#include "leg.h"
#include "flow.h"
#include <rdmadump/hash.h>

/* The host with this address, made if there is room; else the one for all others. */
static struct host *host_of(struct legs *l, unsigned int net, const uint8_t *address)
{
	size_t i = (size_t)rd_hash2(rd_le64(address) ^ net, rd_le64(address + 8)) % (HOSTS_MAX * 2);
	struct host *h;

	for (; l->host_slots[i]; i = (i + 1) % (HOSTS_MAX * 2)) {
		h = &l->hosts[l->host_slots[i] - 1];
		if (h->net == net && !memcmp(h->address, address, sizeof(h->address)))
			return h;
	}
	if (l->n_hosts == HOSTS_MAX) {
		l->hosts[HOSTS_MAX].net = (uint8_t)net;
		return &l->hosts[HOSTS_MAX];
	}
	h = &l->hosts[l->n_hosts++];
	l->host_slots[i] = (uint16_t)l->n_hosts;
	h->net = (uint8_t)net;
	memcpy(h->address, address, sizeof(h->address));
	return h;
}

struct leg *leg_of(struct legs *l, const struct flow *f)
{
	size_t i = (size_t)rd_hash2(f->key.k1, f->id.net) % (LEGS_MAX * 2);
	struct leg *leg;

	for (; l->leg_slots[i]; i = (i + 1) % (LEGS_MAX * 2)) {
		leg = &l->legs[l->leg_slots[i] - 1];
		if (leg->k1 == f->key.k1 && leg->from->net == f->id.net)
			return leg;
	}
	if (l->n_legs == LEGS_MAX) {
		l->legs[LEGS_MAX].from = l->legs[LEGS_MAX].to = &l->hosts[HOSTS_MAX];
		return &l->legs[LEGS_MAX];
	}
	leg = &l->legs[l->n_legs++];
	l->leg_slots[i] = (uint16_t)l->n_legs;
	leg->k1 = f->key.k1;
	leg->from = host_of(l, f->id.net, f->id.src);
	leg->to = host_of(l, f->id.net, f->id.dst);
	return leg;
}

void leg_close(struct host *h)
{
	h->sum.peak_bytes = h->bytes;
	h->sum.peak_senders = h->senders;
	h->sum.peak_ns = h->window_ns;
	h->sum.peak_frame = h->window_frame;
}

void leg_begin(const struct legs *l, struct leg *leg, uint64_t ns, uint64_t frame)
{
	struct host *h = leg->to;

	leg->window = l->window;
	if (h->window != l->window) {
		if (h->bytes > h->sum.peak_bytes)
			leg_close(h);
		h->window = l->window;
		h->window_ns = ns;
		h->window_frame = frame;
		h->bytes = 0;
		h->senders = 0;
	}
	if (++h->senders > h->sum.most_senders)
		h->sum.most_senders = h->senders;
}

/* False: the waits have too little time in common. Those of one QP have none. */
static bool quiet_join(struct quiet *q, uint64_t from, uint64_t to)
{
	from = from > q->from_ns ? from : q->from_ns;
	to = to < q->to_ns ? to : q->to_ns;
	if (to < from + WAITED_NS)
		return false;
	*q = (struct quiet){from, to, q->qps + 1};
	return true;
}

void leg_quiet(struct leg *leg, uint64_t from, uint64_t to)
{
	struct host *ends[] = {leg->from, leg->to};

	for (size_t i = 0; i < 2; i++) {
		struct quiet *q = ends[i]->quiet;

		quiet_join(&q[0], from, to);
		if (!quiet_join(&q[1], from, to))
			q[1] = (struct quiet){from, to, 1};
		if (q[1].qps > q[0].qps)
			q[0] = q[1];
	}
}
