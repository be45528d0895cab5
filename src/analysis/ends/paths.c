/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What identifies a packet at both ends; the tables of paths and of the QPs that they lead to. */
#include "ends.h"
#include <rdmadump/hash.h>
#include <stdlib.h>

#define ECN_BITS 0x30 /* FECN and BECN, in the fifth byte of the BTH */

/* False: the frame has neither addresses nor LIDs. Its network is not set. */
static bool path_key_of(const struct rd_packet *p, struct path_key *r)
{
	r->net = p->net;
	r->length = rd_packet_addresses(p, &r->src, &r->dst);
	if (r->length)
		return true;
	if (p->kind == RD_KIND_IB) { /* LRH: DLID in bytes 2 and 3, SLID in 6 and 7 */
		r->dst = p->data + 2;
		r->src = p->data + 6;
		r->length = 2;
	} else { /* RoCE v1 has a GRH; without one there are MAC addresses */
		return false;
	}
	return true;
}

/* Adds the key to a hash; returns the number of words added. */
static unsigned int hash_path_key(struct rd_hash *h, const struct path_key *r)
{
	unsigned int words = 0;

	if (r->length == 2) {
		rd_hash_add(h, (uint64_t)rd_be16(r->src) << 16 | rd_be16(r->dst));
		return 1;
	}
	for (unsigned int i = 0; i < r->length; i += 4, words++)
		rd_hash_add(h, (uint64_t)rd_be32(r->src + i) << 32 | rd_be32(r->dst + i));
	return words;
}

/* False, and 0: truncated, absent, or captured before the NIC computed it. */
static bool packet_icrc(const struct rd_packet *p, uint32_t *icrc)
{
	*icrc = rd_packet_has_icrc(p) ? rd_be32(p->data + p->icrc) : 0;
	return *icrc != 0;
}

static uint64_t packet_identity(const struct rd_packet *p, const struct path_key *r, uint32_t icrc)
{
	const uint8_t *bth = p->data + p->bth;
	struct rd_hash h = rd_hash_begin();
	unsigned int words = hash_path_key(&h, r);
	uint64_t hash;

	rd_hash_add(&h,
		(uint64_t)rd_be32(bth) << 32 | (rd_be32(bth + 4) & ~((uint32_t)ECN_BITS << 24)));
	rd_hash_add(&h, (uint64_t)rd_be32(bth + 8) << 32 | icrc);
	hash = rd_hash_end(&h, words + 2);
	return hash ? hash : 1;
}

/* The same for all transmissions of a request or a response. */
static uint64_t packet_key(const struct rd_packet *p, const struct path_key *r)
{
	struct rd_hash h = rd_hash_begin();
	unsigned int words = hash_path_key(&h, r);

	rd_hash_add(&h, (uint64_t)p->dest_qp << 32 | p->psn);
	rd_hash_add(&h, (p->op->bits & (RD_OP_RESPONSE | RD_OP_CNP)) | p->opcode >> 5);
	return rd_hash_end(&h, words + 2);
}

/* A packet, possibly in a tunnel: one end may see it decapsulated, the other one encapsulated. */
static bool packet_of(
	enum rd_link link, const struct rd_frame *frame, struct rd_packet *p, uint32_t *network)
{
	struct rd_inner in;

	*network = 0;
	if (rd_packet_parse(link, frame->data, frame->caplen, frame->len, p))
		return true;
	if (!rd_packet_inner(link, frame, p, &in))
		return false;
	*network = in.network;
	return true;
}

int rd_ends_address_order(const void *x, const void *y)
{
	const struct rd_ends_address *a = x, *b = y;

	return RD_ORDER(a->word[0], b->word[0]) ?: RD_ORDER(a->word[1], b->word[1]);
}

static void read_headers(const struct rd_packet *p, struct rd_ends_packet *to)
{
	const uint8_t *ip = p->data + p->l3;

	to->qp = p->dest_qp;
	to->psn = p->psn;
	to->opcode = p->opcode;
	to->net = p->net;
	to->length = p->end < UINT16_MAX ? (uint16_t)p->end : UINT16_MAX;
	to->request = rd_packet_transport(p) == RD_RC && !(p->op->bits & RD_OP_RESPONSE);
	to->data = to->request && (p->op->bits & (RD_OP_SEND | RD_OP_WRITE));
	if (p->net == RD_NET_IPV4) {
		to->ip_id = rd_be16(ip + 4);
		to->ttl = ip[8];
	} else if (p->net != RD_NET_NONE) {
		to->ttl = ip[7];
	}
}

static enum rd_ends_answer answer_of(const struct rd_packet *p)
{
	struct rd_aeth aeth;

	if (rd_packet_transport(p) != RD_RC || !(p->op->bits & RD_OP_RESPONSE))
		return RD_ENDS_NONE;
	if (!(p->op->bits & RD_OP_ACK))
		return RD_ENDS_ACK;
	if (!rd_packet_aeth(p, &aeth))
		return RD_ENDS_NONE;
	if (aeth.kind == RD_AETH_NAK && aeth.value == 0)
		return RD_ENDS_NAK;
	return aeth.kind == RD_AETH_RNR ? RD_ENDS_RNR : RD_ENDS_ACK;
}

bool rd_ends_packet(enum rd_link link, const struct rd_frame *frame, struct rd_ends_packet *to)
{
	struct rd_packet p;
	struct path_key r;

	*to = (struct rd_ends_packet){.ns = frame->ts_ns, .direction = frame->direction};
	if (!packet_of(link, frame, &p, &to->network) || !path_key_of(&p, &r))
		return false;
	to->whole = packet_icrc(&p, &to->icrc);
	to->bytes = packet_identity(&p, &r, 0);
	to->identity = to->whole ? packet_identity(&p, &r, to->icrc) : to->bytes;
	to->packet = packet_key(&p, &r);
	to->address_length = (uint8_t)r.length;
	memcpy(to->from.word, r.src, r.length);
	memcpy(to->to.word, r.dst, r.length);
	to->answer = (uint8_t)answer_of(&p);
	read_headers(&p, to);
	return true;
}

static bool has_addresses(const struct path *p, const struct path_key *r)
{
	return p->net == r->net && !memcmp(p->src, r->src, r->length) &&
	       !memcmp(p->dst, r->dst, r->length);
}

static bool has_key(const struct path *p, const struct path_key *r, bool keyed)
{
	return has_addresses(p, r) && p->keyed == keyed && (!keyed || p->network == r->network);
}

/* The slot of a key in the hash table: that of its path, or an empty one. */
static uint16_t *path_slot(struct rd_ends *e, const struct path_key *r, bool keyed)
{
	struct rd_hash h = rd_hash_begin();
	size_t i = (size_t)rd_hash_end(&h, hash_path_key(&h, r)) & (PATH_SLOTS - 1);

	while (e->path_slots[i] && !has_key(e->paths[e->path_slots[i] - 1], r, keyed))
		i = (i + 1) & (PATH_SLOTS - 1);
	return &e->path_slots[i];
}

static struct path *path_at(struct rd_ends *e, const struct path_key *r, bool keyed)
{
	const uint16_t place = *path_slot(e, r, keyed);

	return place ? e->paths[place - 1] : NULL;
}

/*
 * The path back: in the same network. A tunnel whose ends route may have another network in each
 * direction; that is the one meant only if no other one has these addresses.
 */
static struct path *find_reverse(struct rd_ends *e, const struct path *p)
{
	const struct path_key back = {p->net, p->length, p->network, p->dst, p->src};
	struct path *q = path_at(e, &back, false), *same;

	if (!q || q == p || !p->network || !q->network || p->network == q->network)
		return q == p ? NULL : q;
	same = path_at(e, &back, true);
	return same || p->plain->shared || q->shared ? same : q;
}

/* After a path between these addresses was added, or its network became known. */
static void link_paths(struct rd_ends *e, const struct path_key *r)
{
	const struct path_key back = {r->net, r->length, 0, r->dst, r->src};

	for (size_t i = 0; i < e->n_paths; i++) {
		struct path *p = e->paths[i], *reverse;

		if (!has_addresses(p, r) && !has_addresses(p, &back))
			continue;
		reverse = find_reverse(e, p);
		if (p->reverse && p->reverse != reverse) { /* they compared with another network */
			p->votes.time[RD_TAP_A] = p->votes.time[RD_TAP_B] = 0;
			p->votes.least[RD_TAP_A] = p->votes.least[RD_TAP_B] = 0;
			p->has_last = false;
		}
		p->reverse = reverse;
	}
}

/* `first`: the path of the same addresses in another network; NULL: there is none. */
static struct path *path_make(struct rd_ends *e, const struct path_key *r, struct path *first)
{
	const bool room = e->n_paths < PATHS_MAX && e->n_qps < PATH_QPS_MAX;
	struct path *p = room ? calloc(1, sizeof(*p)) : NULL;

	if (!p) {
		e->out_of_memory |= room;
		return NULL;
	}
	p->net = r->net;
	p->length = r->length;
	p->network = r->network;
	p->keyed = first != NULL;
	p->plain = first ? first : p;
	memcpy(p->src, r->src, r->length);
	memcpy(p->dst, r->dst, r->length);
	e->paths[e->n_paths++] = p;
	*path_slot(e, r, p->keyed) = (uint16_t)e->n_paths;
	link_paths(e, r);
	return p;
}

/*
 * The first network with some addresses has the path without a network in its key, together with
 * packets outside of networks: an end may see them before or after the tunnel.
 */
static struct path *path_find(struct rd_ends *e, const struct path_key *r)
{
	struct path *first = path_at(e, r, false), *p;

	if (!first || !r->network || first->network == r->network)
		return first ? first : path_make(e, r, NULL);
	if (!first->network) {
		first->network = r->network;
		link_paths(e, r);
		return first;
	}
	first->shared = true;
	p = path_at(e, r, true);
	return p ? p : path_make(e, r, first);
}

static struct path_qp *qp_make(
	struct rd_ends *e, struct path_qp **slot, uint64_t key, struct path *path, uint32_t qp)
{
	if (e->n_qps == e->n_slots / 2)
		return NULL;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot) {
		e->out_of_memory = true;
		return NULL;
	}
	(*slot)->key = key;
	(*slot)->path = path;
	(*slot)->qp = qp;
	path->n_qps++;
	e->n_qps++;
	return *slot;
}

/* `network`: 0 for the first path of these addresses. */
static uint64_t qp_key(const struct path_key *r, uint32_t qp, uint32_t network)
{
	struct rd_hash h = rd_hash_begin();
	unsigned int words = hash_path_key(&h, r);

	rd_hash_add(&h, (uint64_t)network << 32 | qp);
	return rd_hash_end(&h, words + 1);
}

/* Where the packets with this key are, or an empty slot. */
static struct path_qp **qp_slot(const struct rd_ends *e, uint64_t key)
{
	size_t i = (size_t)(key & (e->n_slots - 1));

	while (e->qps[i] && e->qps[i]->key != key)
		i = (i + 1) & (e->n_slots - 1);
	return &e->qps[i];
}

struct path_qp *path_qp_find(struct rd_ends *e, const struct path_key *r, uint32_t qp)
{
	uint64_t key = qp_key(r, qp, 0);
	struct path_qp *w = e->cached && e->cached->key == key ? e->cached : *qp_slot(e, key);
	struct path_qp **slot;
	struct path *path;

	if (!w || (r->network && w->path->network != r->network)) {
		path = path_find(e, r);
		if (!path)
			return NULL;
		key = path->keyed ? qp_key(r, qp, r->network) : key;
		slot = qp_slot(e, key);
		w = *slot ? *slot : qp_make(e, slot, key, path, qp);
		if (!w)
			return NULL;
	}
	w->path->outside |= !r->network;
	return e->cached = w;
}

const struct path_qp *path_qp_known(const struct rd_ends *e, const struct path *p, uint32_t qp)
{
	const struct path_key r = {p->net, p->length, p->network, p->src, p->dst};

	return *qp_slot(e, qp_key(&r, qp, p->keyed ? p->network : 0));
}
