/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of flows: an open hash of pointers, with a cache of the flows used last. */
#include "flow.h"
#include "app.h"
#include <rdmadump/hash.h>
#include <rdmadump/memory.h>
#include <rdmadump/sum.h>
#include <stdlib.h>

#define SLOTS_FIRST 1024

struct app_queue app_none; /* never changed */

/*
 * A key of 16 bytes: the addresses themselves where they fit (IPv4, LIDs), else a 64-bit hash of
 * them; QPs and the kind of address.
 */
struct flow_key flow_key(
	unsigned int net, const uint8_t *src, const uint8_t *dst, uint32_t dest_qp, uint32_t src_qp)
{
	struct flow_key key = {.k2 = flow_key_qps(net, dest_qp, src_qp)};
	uint8_t both[8];

	if (net == RD_NET_IPV4) {
		memcpy(both, src, 4);
		memcpy(both + 4, dst, 4);
		key.k1 = rd_le64(both);
	} else if (net == RD_NET_NONE) {
		key.k1 = (uint64_t)rd_be16(src) << 16 | rd_be16(dst);
	} else {
		struct rd_hash h = rd_hash_begin();

		rd_hash_add(&h, rd_le64(src));
		rd_hash_add(&h, rd_le64(src + 8));
		rd_hash_add(&h, rd_le64(dst));
		rd_hash_add(&h, rd_le64(dst + 8));
		key.k1 = rd_hash_end(&h, 4);
	}
	return key;
}

uint64_t flow_network_key(uint64_t k1, uint32_t network)
{
	return network ? k1 ^ rd_hash2(network, 0) : k1;
}

uint64_t flow_plain(const struct flow *f)
{
	return f->id.keyed ? flow_network_key(f->key.k1, f->id.network) : f->key.k1;
}

bool flow_table_init(struct flow_table *t, size_t max)
{
	*t = (struct flow_table){.mask = SLOTS_FIRST - 1, .max = max};
	t->slots = calloc(SLOTS_FIRST, sizeof(*t->slots));
	return t->slots != NULL;
}

static void *freed(void *memory)
{
	free(memory);
	return NULL;
}

void flow_finish(struct flow *f)
{
	if (f->trouble) {
		seq_free(&f->trouble->seen);
		seq_free(&f->trouble->pass);
		seq_free(&f->trouble->unseen);
		free(f->trouble->waits);
	}
	if (f->resp.missing)
		seq_free(f->resp.missing);
	congestion_free(f->congestion);
	f->congestion = NULL;
	f->trouble = freed(f->trouble);
	f->held = freed(f->held);
	f->resp.missing = freed(f->resp.missing);
	f->ack.waiting = freed(f->ack.waiting);
	f->ack.waiting_n = f->ack.waiting_capacity = 0;
	for (unsigned int i = 0; i < 2; i++)
		f->recent.value[i] = freed(f->recent.value[i]);
	memset(f->recent.capacity, 0, sizeof(f->recent.capacity));
	free(f->incidents.list);
	f->incidents = (struct incidents){0};
	f->req.verbs = freed(f->req.verbs);
	f->req.n_verbs = 0;
	memset(f->req.verb_at, 0, sizeof(f->req.verb_at));
	f->times = freed(f->times);
	for (unsigned int i = 0; i < RD_LATENCY_COUNT; i++)
		f->ack.latencies[i] = freed(f->ack.latencies[i]);
}

void flow_table_free(struct flow_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		if (!t->all[i])
			continue;
		flow_finish(t->all[i]);
		flow_release(t, i);
	}
	free(t->chunks);
	free(t->all);
	free(t->slots);
}

static struct flow **slot_of(const struct flow_table *t, uint64_t k1, uint64_t k2)
{
	size_t i = (size_t)rd_hash2(k1, k2) & t->mask;

	while (t->slots[i] && (t->slots[i]->key.k1 != k1 || t->slots[i]->key.k2 != k2))
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

void flow_drop(struct flow_table *t, struct flow *f)
{
	static struct flow gone = {.key = {UINT64_MAX, UINT64_MAX}}; /* the key of no flow */
	size_t index = f->id.number - 1;

	flow_finish(f);
	*slot_of(t, f->key.k1, f->key.k2) = &gone;
	t->all[index] = NULL;
	flow_release(t, index);
}

struct flow *flow_in(const struct flow_table *t, const struct flow_key *key, uint32_t network)
{
	struct flow *f = *slot_of(t, key->k1, key->k2);

	if (!f || !network || !f->id.network || f->id.network == network)
		return f;
	return *slot_of(t, flow_network_key(key->k1, network), key->k2);
}

struct flow *flow_made(const struct rd_analysis *a, const struct item *it)
{
	const struct rd_packet *p = it->p;
	const uint8_t *src, *dst;
	struct flow_key key;

	if (!rd_packet_addresses(p, &src, &dst))
		return NULL;
	key = flow_key(p->net, src, dst, p->dest_qp, RD_QP_UNKNOWN);
	return flow_in(&a->flows, &key, it->network);
}

static bool table_grow(struct flow_table *t)
{
	size_t n = (t->mask + 1) * 2;
	struct flow **slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	free(t->slots);
	t->slots = slots;
	t->mask = n - 1;
	for (size_t i = 0; i < t->n; i++)
		*slot_of(t, t->all[i]->key.k1, t->all[i]->key.k2) = t->all[i];
	return true;
}

static struct flow *table_add(struct flow_table *t, const struct flow_key *key)
{
	struct flow **all = t->n < t->max ? rd_append(&t->all, t->n, sizeof(struct flow *)) : NULL;
	struct flow *f;

	if (!all || (t->n * 2 > t->mask && !table_grow(t)))
		return NULL;
	f = flow_allocate(t);
	if (!f)
		return NULL;
	f->key.k1 = key->k1;
	f->key.k2 = key->k2;
	*slot_of(t, key->k1, key->k2) = f;
	*all = f;
	f->id.number = (uint32_t)++t->n;
	return f;
}

/* A LID, if there is no other address. */
static const uint8_t *lid(const struct rd_packet *p, unsigned int at)
{
	static const uint8_t none[2];

	return p->kind == RD_KIND_IB && p->caplen >= 8 ? p->data + at : none;
}

static struct flow *flow_make(struct rd_analysis *a, const struct flow_key *key,
	const struct rd_packet *p, const struct item *it, const uint8_t *src, const uint8_t *dst,
	unsigned int len, uint32_t src_qp)
{
	struct flow *f = table_add(&a->flows, key);
	struct rd_ipoib ip;
	struct rd_lrh lrh;

	if (!f)
		return NULL;
	memcpy(f->id.src, src, len);
	memcpy(f->id.dst, dst, len);
	f->id.back = flow_key(p->net, dst, src, 0, 0).k1;
	f->id.net = p->net;
	f->id.kind = p->kind;
	f->id.transport = (uint8_t)rd_packet_transport(p);
	f->id.dest_qp = p->dest_qp;
	f->id.src_qp = src_qp;
	f->id.network = it->network;
	f->id.outside = !it->network;
	f->id.multicast = rd_packet_is_multicast(p);
	f->traffic.first_ns = it->ns;
	f->traffic.first_frame = it->frame;
	f->id.first.pkey = p->pkey;
	f->id.first.has_lrh = rd_packet_lrh(p, &lrh);
	f->id.first.sl = f->id.first.has_lrh ? lrh.sl : 0;
	f->id.first.lid = f->id.first.has_lrh ? lrh.slid : 0;
	f->id.ipoib = rd_packet_ipoib(p, &ip);
	f->resp.credits = -1;
	f->priority = (struct flow_priority){.tclass = TCLASS_NONE, .pcp = PCP_NONE};
	f->id.sport = p->kind == RD_KIND_ROCE2 ? rd_be16(p->data + p->l4) : 0;
	f->all.row = (uint16_t)grid_row(&a->grid);
	f->place.home = it->place;
	f->path = host_path_of(a->paths, f);
	return f;
}

/*
 * The flow of a network, where `first` has the key without one: `first` itself, if it was outside
 * of networks so far, as a host captures packets before and after the tunnel. NULL: there is none
 * yet; *key becomes its key.
 */
static struct flow *network_flow(
	const struct flow_table *t, struct flow *first, struct flow_key *key, uint32_t network)
{
	if (!first->id.network) {
		first->id.network = network;
		return first;
	}
	first->id.shared = true;
	key->k1 = flow_network_key(key->k1, network);
	return *slot_of(t, key->k1, key->k2);
}

struct flow *flow_find(struct rd_analysis *a, const struct item *it, bool *made)
{
	const struct rd_packet *p = it->p;
	uint32_t src_qp = RD_QP_UNKNOWN;
	const uint8_t *src, *dst;
	unsigned int len = rd_packet_addresses(p, &src, &dst);
	struct flow_key key;
	struct rd_deth deth;
	struct flow *f, *first = NULL;

	if (!len) {
		len = 2;
		src = lid(p, 6);
		dst = lid(p, 2);
	}
	if ((rd_packet_transport(p) == RD_UD || rd_packet_transport(p) == RD_RD) &&
		rd_packet_deth(p, &deth))
		src_qp = deth.src_qp;
	key = flow_key(p->net, src, dst, p->dest_qp, src_qp);
	f = *slot_of(&a->flows, key.k1, key.k2);
	if (f && it->network && it->network != f->id.network) {
		first = f;
		f = network_flow(&a->flows, first, &key, it->network);
	}
	*made = !f;
	if (!f)
		f = flow_make(a, &key, p, it, src, dst, len, src_qp);
	if (f && *made && first)
		f->id.keyed = f->id.shared = true;
	if (f)
		*flow_near(&a->flows, key.k1, key.k2) = f;
	return f;
}

void incident_add(struct rd_incident *e, uint64_t n, uint64_t frame, uint64_t ns)
{
	if (!e->count) {
		e->first_frame = frame;
		e->first_ns = ns;
	}
	rd_sum_add(&e->count, n);
	e->last_frame = frame;
	e->last_ns = ns;
}

void incident_join(struct rd_incident *to, const struct rd_incident *from)
{
	if (!from->count)
		return;
	if (!to->count || from->first_frame < to->first_frame) {
		to->first_frame = from->first_frame;
		to->first_ns = from->first_ns;
	}
	if (from->last_frame > to->last_frame) {
		to->last_frame = from->last_frame;
		to->last_ns = from->last_ns;
	}
	to->count += from->count;
}

struct rd_incident *incident_of(const struct incidents *incidents, enum rd_incident_kind kind)
{
	return incidents->has >> kind & 1 ? &incidents->list[bit_place(incidents->has, kind)]
					  : NULL;
}

struct rd_incident *flow_incident_of(
	struct rd_analysis *a, struct flow *f, enum rd_incident_kind kind)
{
	struct incidents *e = &f->incidents;
	unsigned int at = bit_place(e->has, kind), n = (unsigned int)__builtin_popcountll(e->has);
	struct rd_incident *list;

	if (e->has >> kind & 1)
		return &e->list[at];
	list = must(a, reallocarray(e->list, n + 1, sizeof(*list)));
	if (!list)
		return NULL;
	memmove(&list[at + 1], &list[at], (n - at) * sizeof(*list));
	list[at] = (struct rd_incident){0};
	e->list = list;
	e->has |= UINT64_C(1) << kind;
	return &list[at];
}

void flow_incident(struct rd_analysis *a, struct flow *f, enum rd_incident_kind kind, uint64_t n)
{
	struct rd_incident *e;

	if (!n)
		return;
	e = flow_incident_of(a, f, kind);
	if (e)
		incident_add(e, n, a->frame, a->ns);
	if (a->psn_plots)
		psn_plots_incident(a, kind);
	if (a->config.marks)
		mark_incident(a, f, kind);
}

void flow_take_back(struct flow *f, enum rd_incident_kind kind)
{
	struct rd_incident *e = incident_of(&f->incidents, kind);

	if (e && e->count)
		e->count--;
}

void receiver_refuses(struct rd_analysis *a, struct flow *f, uint32_t psn)
{
	if (psn_diff(psn, f->receiver.expected) < 0) {
		flow_incident(a, f, RD_INC_AT_RECEIVER_DUPLICATE, 1);
		return;
	}
	if (f->receiver.refusing) /* one NAK until the missing packet arrives */
		return;
	f->receiver.previous_naked = f->receiver.naked && !f->receiver.nak_seen;
	f->receiver.previous_nak = f->receiver.nak;
	f->receiver.refusing = true;
	f->receiver.naked = true;
	f->receiver.nak_seen = false;
	f->receiver.nak = f->receiver.expected;
	flow_incident(a, f, RD_INC_AT_RECEIVER_SEQUENCE, 1);
}

struct trouble *flow_trouble(struct rd_analysis *a, struct flow *f)
{
	if (f->trouble)
		return f->trouble;
	f->trouble = must(a, calloc(1, sizeof(*f->trouble)));
	if (f->trouble)
		f->trouble->seen.start = f->trouble->pass.start = f->req.first;
	return f->trouble;
}

struct seq *flow_missing(struct rd_analysis *a, struct flow *f)
{
	if (!f->resp.missing)
		f->resp.missing = must(a, calloc(1, sizeof(*f->resp.missing)));
	return f->resp.missing;
}

struct times *flow_times(struct rd_analysis *a, struct flow *f)
{
	f->times = must(a, calloc(1, sizeof(*f->times)));
	if (f->times) {
		f->times->last_ns = a->ns;
		f->times->so_far.gap_ns = UINT32_MAX;
	}
	return f->times;
}

struct rd_verb_use *flow_verb(struct rd_analysis *a, struct flow *f, enum rd_verb verb)
{
	struct rd_verb_use *verbs;

	if (f->req.verb_at[verb])
		return &f->req.verbs[f->req.verb_at[verb] - 1];
	verbs = must(a, reallocarray(f->req.verbs, f->req.n_verbs + 1U, sizeof(*verbs)));
	if (!verbs)
		return NULL;
	f->req.verbs = verbs;
	verbs[f->req.n_verbs] = (struct rd_verb_use){.smallest = UINT32_MAX};
	f->req.verb_at[verb] = ++f->req.n_verbs;
	return &verbs[f->req.n_verbs - 1];
}

bool flow_waiting_grow(struct rd_analysis *a, struct flow *f)
{
	unsigned int capacity = f->ack.waiting_capacity ? f->ack.waiting_capacity * 2U : 1;
	struct waiting *waiting = must(a, malloc(capacity * sizeof(*waiting)));

	if (!waiting)
		return false;
	for (unsigned int i = 0; i < f->ack.waiting_n; i++)
		waiting[i] = *waiting_at(f, i);
	free(f->ack.waiting);
	f->ack.waiting = waiting;
	f->ack.waiting_at = 0;
	f->ack.waiting_capacity = (uint8_t)capacity;
	return true;
}

void responses_restart(struct flow *f)
{
	struct flow_responses *resp = f->pair.peer ? &f->pair.peer->resp : NULL;

	f->ack.gap_open = f->ack.answered = false;
	f->ack.waiting_n = 0;
	if (!resp)
		return;
	resp->started = resp->open = resp->early = false;
	if (resp->missing)
		resp->missing->n_holes = 0;
}

void flow_transport(struct flow *f, const struct rd_packet *p)
{
	if (f->id.transport == RD_CNP)
		f->id.transport = (uint8_t)rd_packet_transport(p);
}

void flow_expect(struct flow *f, uint32_t psn)
{
	f->req.started = true;
	f->req.start_known = false;
	f->req.before = 0;
	f->req.first = f->req.next = f->req.at = f->receiver.expected = f->ack.una = psn;
	f->receiver.refusing = f->receiver.naked = f->receiver.previous_naked = false;
	f->round.active = f->req.slow = f->ack.acked = f->ack.refused = false;
	f->req.message_bytes = MESSAGE_UNSIZED;
	f->req.late_n = f->ack.waiting_n = 0;
	f->ack.rnr_frame = f->ack.nak_frame = 0;
	f->ack.gap_open = f->ack.ended = f->round.straggler = false;
	f->round.attempts = 0;
	f->ack.open_since_ns = 0;
	if (f->trouble) {
		seq_restart(&f->trouble->seen, psn);
		seq_restart(&f->trouble->pass, psn);
		seq_restart(&f->trouble->unseen, psn);
		f->trouble->two_naks = f->trouble->leftover = f->trouble->denied_open =
			f->trouble->gap_open = false;
	}
}
