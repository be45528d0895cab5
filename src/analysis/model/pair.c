/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the two flows of a conversation. A packet has only its destination QP. The source QP is
 * known from the CM or from resources of the device, or is found by the UDP source port, which
 * drivers compute from both QP numbers (rdma_get_udp_sport() in the kernel's ib_verbs.h), or by
 * PSNs that only one requester waits for.
 */
#include "app.h"
#include "facts.h"
#include <rdmadump/hash.h>

#define PSNS_MAX   65536 /* PSNs that wait for a response of an unknown QP */
#define PORT_TRIES 64	 /* flows that a new one is compared with */
#define LINKS_MAX  (1U << 24)
#define NAK_TRIES  8	/* NAKs of a flow without a peer, for which one is searched */
#define NAK_FLOWS  1024 /* flows that are compared, the newest first */
#define NAK_WINDOW 256	/* packets that may be sent after the one that a NAK requests */

/* Flows that requested a response with this PSN: the only one, or the first of several. */
struct psn_waiting {
	struct flow *flow;
	bool ambiguous;
};

void pair_init(struct rd_analysis *a)
{
	bounded_init(&a->psns, PSNS_MAX, sizeof(struct psn_waiting));
	bounded_init(&a->links,
		a->config.max_qps < LINKS_MAX / 2 ? (uint32_t)a->config.max_qps * 2 : LINKS_MAX,
		sizeof(struct link_pair));
}

/*
 * Where responses to f's packets came before their requester was known, those packets were sent
 * before: no response is known to be the one to the packets that were captured.
 */
static void answered_before(struct flow *f, const struct flow *peer)
{
	f->ack.answered = peer->resp.early;
	while (f->ack.answered && f->ack.waiting_n &&
		psn_diff(waiting_at(f, 0)->psn, peer->resp.until) < 0)
		waiting_next(f);
}

static void pair(struct flow *f, struct flow *g, enum rd_pairing how)
{
	answered_before(f, g);
	answered_before(g, f);
	f->pair.peer = g;
	g->pair.peer = f;
	f->pair.how = g->pair.how = (uint8_t)how;
	if (!f->req.mtu)
		f->req.mtu = g->req.mtu;
	if (!g->req.mtu)
		g->req.mtu = f->req.mtu;
}

static void waits_at(struct rd_analysis *a, struct flow *f, uint64_t k1, uint32_t psn)
{
	bool made;
	struct psn_waiting *w = must(a, bounded_take(&a->psns, k1, psn, &made));

	if (!w)
		return;
	if (made || w->flow->pair.peer)
		*w = (struct psn_waiting){.flow = f};
	else
		w->ambiguous |= w->flow != f;
}

/* Both directions have one network, or, where a tunnel's ends route, one each. */
void pair_request(struct rd_analysis *a, struct flow *f, uint32_t psn)
{
	uint64_t plain = flow_plain(f);

	if (f->id.network)
		waits_at(a, f, flow_network_key(plain, f->id.network), psn);
	waits_at(a, f, plain, psn);
}

static bool may_pair(const struct flow *f, const struct flow *g)
{
	return f != g && !g->pair.peer && f->id.net == g->id.net && f->id.kind == g->id.kind;
}

void pair_response(struct rd_analysis *a, struct flow *f, uint32_t psn)
{
	uint64_t back = flow_network_key(f->id.back, f->id.network);
	struct psn_waiting *w = bounded_find(&a->psns, back, psn);
	struct flow *requester;

	if (!w && f->id.network)
		w = bounded_find(&a->psns, f->id.back, psn);
	if (!w || w->ambiguous || !may_pair(f, w->flow))
		return;
	requester = w->flow;
	bounded_remove(&a->psns, w);
	pair(f, requester, RD_PAIR_PSN);
}

/* Whether a flow has the same addresses, reversed, in the same network. */
static bool is_back(const struct flow *f, const struct flow *g)
{
	return g->id.network == f->id.network && flow_plain(g) == f->id.back;
}

/* A NAK may request any packet, of which only those that ask for a response are in the slots. */
void pair_nak(struct rd_analysis *a, struct flow *f, uint32_t psn)
{
	struct flow *found = NULL;
	size_t n = a->flows.n;

	if (f->pair.misses == NAK_TRIES)
		return;
	f->pair.misses++;
	for (unsigned int i = 0; i < NAK_FLOWS && n; i++) {
		struct flow *g = a->flows.all[--n];
		int32_t before;

		if (!is_back(f, g) || !g->req.started || !may_pair(f, g))
			continue;
		before = psn_diff(g->req.next, psn);
		if (before < 0 || before > NAK_WINDOW || psn_diff(psn, g->req.first) < 0)
			continue;
		if (found)
			return;
		found = g;
	}
	if (!found)
		return;
	f->pair.misses = 0;
	pair(f, found, RD_PAIR_PSN);
}

/* The source port that drivers compute for a connection. */
static uint16_t port_of(uint32_t qp, uint32_t other)
{
	uint64_t v = (uint64_t)qp * other;
	uint32_t label;

	v ^= v >> 20;
	v ^= v >> 40;
	label = (uint32_t)(v & 0xfffff);
	return (uint16_t)(((label & 0x3fff) ^ (label & 0xfc000) >> 14) | 0xc000);
}

/*
 * Drivers with another rule may give many QPs one port, which is then that of a wrong pair by
 * chance: a third flow of these hosts with the same port shows them.
 */
static void pair_by_port(struct rd_analysis *a, struct flow *f)
{
	struct flow *found = NULL;
	size_t n = a->flows.n - 1;

	for (unsigned int i = 0; i < PORT_TRIES && n; i++) {
		struct flow *g = a->flows.all[--n];

		if (g->id.sport != f->id.sport || (!is_back(f, g) && g->key.k1 != f->key.k1))
			continue;
		if (found || !is_back(f, g))
			return;
		found = g;
	}
	if (found && may_pair(f, found) && port_of(f->id.dest_qp, found->id.dest_qp) == f->id.sport)
		pair(f, found, RD_PAIR_PORT);
}

/* Of the flow with this key, in this network. */
static uint64_t link_key(uint64_t k1, uint64_t k2, uint32_t network)
{
	return rd_hash2(flow_network_key(k1, network), k2);
}

/* Applies a link to flows that exist. `again`: of another connection than the last one there. */
static void link_apply(struct rd_analysis *a, const struct link_pair *l, bool again)
{
	struct flow *f = flow_in(&a->flows, &(struct flow_key){l->k1, l->k2}, l->network);
	struct flow *g = flow_in(&a->flows, &(struct flow_key){l->p1, l->p2}, l->peer_network);

	if (f && f->req.started && l->psn <= 0xffffff &&
		(again || l->psn != f->req.first)) { /* the QP was reused */
		flow_incident(a, f, RD_INC_RESTART, 1);
		flow_expect(f, l->psn);
		responses_restart(f);
		f->req.start_known = true;
		app_restart(f);
	}
	if (f)
		f->pair.ack_timeout = l->made.ack_timeout;
	if (f && again)
		f->pair.cm_ended = false;
	if (!f || !g || f == g || f->pair.peer == g)
		return;
	if (f->pair.peer)
		f->pair.peer->pair.peer = NULL;
	if (g->pair.peer)
		g->pair.peer->pair.peer = NULL;
	pair(f, g, (enum rd_pairing)l->how);
}

void pair_link(struct rd_analysis *a, const struct link_pair *link)
{
	bool made, again;
	struct link_pair *to = bounded_take(
		&a->links, link_key(link->k1, link->k2, link->network), (uint32_t)link->k2, &made);

	if (!to)
		return;
	again = !made && to->made.frame != link->made.frame;
	*to = *link;
	link_apply(a, link, again);
}

const struct link_pair *pair_link_of(const struct rd_analysis *a, const struct flow *f)
{
	const uint64_t key = link_key(flow_plain(f), f->key.k2, f->id.network);

	return bounded_find(&a->links, key, (uint32_t)f->key.k2);
}

/* By the list of QPs that the capture file has of its host. */
static void pair_by_resource(struct rd_analysis *a, struct flow *f)
{
	uint32_t qp;

	for (unsigned int i = 0; (qp = facts_peer(a, f->id.dest_qp, i)) != RD_QP_UNKNOWN; i++) {
		const struct flow_key back = {
			f->id.back, flow_key_qps(f->id.net, qp, RD_QP_UNKNOWN)};
		struct flow *g = flow_in(&a->flows, &back, f->id.network);

		if (g && may_pair(f, g)) {
			pair(f, g, RD_PAIR_RESOURCE);
			return;
		}
	}
}

void pair_new_flow(struct rd_analysis *a, struct flow *f)
{
	const struct link_pair *l = pair_link_of(a, f);

	if (a->facts)
		pair_by_resource(a, f);
	if (l) {
		f->pair.cm_made = l->how == RD_PAIR_CM;
		if (l->psn <= 0xffffff) {
			flow_expect(f, l->psn);
			f->req.start_known = true;
		}
		link_apply(a, l, false);
	}
	if (!f->pair.peer && f->id.sport && (f->id.transport == RD_RC || f->id.transport == RD_XRC))
		pair_by_port(a, f);
}
