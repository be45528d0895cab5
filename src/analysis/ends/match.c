/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds each packet of one capture in the other, by a hash table of the packets that wait for a
 * match.
 */
#include "ends.h"
#include <errno.h>
#include <rdmadump/hash.h>
#include <stdlib.h>

#define PATIENCE_NS ((int64_t)1000000000)
#define MARGIN_NS   ((int64_t)1000000)
#define ECN_BITS    0x30 /* FECN and BECN, in the fifth byte of the BTH */

/* Source and destination of a packet: addresses, or LIDs if there is no network header. */
struct route {
	unsigned int net, length;
	const uint8_t *src, *dst;
};

static bool route_of(const struct rd_packet *p, struct route *r)
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

/* Adds the route to a hash; returns the number of words added. */
static unsigned int hash_route(struct rd_hash *h, const struct route *r)
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

static uint64_t identity(const struct rd_packet *p, const struct route *r)
{
	const uint8_t *bth = p->data + p->bth;
	struct rd_hash h = rd_hash_begin();
	unsigned int words = hash_route(&h, r);
	uint64_t icrc = 0, hash;

	if (p->icrc && p->icrc + RD_ICRC_LEN <= p->caplen)
		icrc = rd_be32(p->data + p->icrc);
	rd_hash_add(&h,
		(uint64_t)rd_be32(bth) << 32 | (rd_be32(bth + 4) & ~((uint32_t)ECN_BITS << 24)));
	rd_hash_add(&h, (uint64_t)rd_be32(bth + 8) << 32 | icrc);
	hash = rd_hash_end(&h, words + 2);
	return hash ? hash : 1;
}

/* An end may be inside of a tunnel that the other one sees from outside. */
static bool parse(enum rd_link link, const struct rd_frame *frame, struct rd_packet *p)
{
	unsigned int tunnels;

	return rd_packet_parse(link, frame->data, frame->caplen, frame->len, p) ||
	       rd_packet_inner(link, frame, p, &tunnels);
}

uint64_t rd_ends_identity(enum rd_link link, const struct rd_frame *frame)
{
	struct rd_packet p;
	struct route r;

	if (!parse(link, frame, &p) || !route_of(&p, &r))
		return 0;
	return identity(&p, &r);
}

/* --- paths and their QPs ---------------------------------------------------------------------- */

static bool same_route(const struct path *p, const struct route *r)
{
	return p->net == r->net && !memcmp(p->src, r->src, r->length) &&
	       !memcmp(p->dst, r->dst, r->length);
}

/* The slot of a route in the hash table: that of its path, or an empty one. */
static uint16_t *path_slot(struct rd_ends *e, const struct route *r)
{
	struct rd_hash h = rd_hash_begin();
	size_t i = (size_t)rd_hash_end(&h, hash_route(&h, r)) & (PATH_SLOTS - 1);

	while (e->path_slots[i] && !same_route(e->paths[e->path_slots[i] - 1], r))
		i = (i + 1) & (PATH_SLOTS - 1);
	return &e->path_slots[i];
}

static struct path *path_find(struct rd_ends *e, const struct route *r)
{
	const struct route back = {r->net, r->length, r->dst, r->src};
	uint16_t *slot = path_slot(e, r), reverse;
	struct path *p;

	if (*slot)
		return e->paths[*slot - 1];
	p = e->n_paths < PATHS_MAX ? calloc(1, sizeof(*p)) : NULL;
	if (!p) {
		e->out_of_memory |= e->n_paths < PATHS_MAX;
		return NULL;
	}
	p->net = r->net;
	memcpy(p->src, r->src, r->length);
	memcpy(p->dst, r->dst, r->length);
	reverse = *path_slot(e, &back);
	if (reverse) {
		p->reverse = e->paths[reverse - 1];
		p->reverse->reverse = p;
	}
	e->paths[e->n_paths++] = p;
	*slot = (uint16_t)e->n_paths;
	return p;
}

static struct path_qp *qp_make(
	struct rd_ends *e, struct path_qp **slot, uint64_t key, const struct route *r, uint32_t qp)
{
	struct path *path = e->n_qps < PATH_QPS_MAX ? path_find(e, r) : NULL;

	if (!path)
		return NULL;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot) {
		e->out_of_memory = true;
		return NULL;
	}
	(*slot)->key = key;
	(*slot)->path = path;
	(*slot)->qp = qp;
	e->n_qps++;
	return *slot;
}

static struct path_qp *qp_find(struct rd_ends *e, const struct route *r, uint32_t qp)
{
	struct rd_hash h = rd_hash_begin();
	unsigned int words = hash_route(&h, r);
	uint64_t key;
	size_t i;

	rd_hash_add(&h, qp);
	key = rd_hash_end(&h, words + 1);
	i = (size_t)(key & (PATH_QP_SLOTS - 1));

	if (e->cached && e->cached->key == key)
		return e->cached;
	for (; e->qps[i]; i = (i + 1) & (PATH_QP_SLOTS - 1))
		if (e->qps[i]->key == key)
			return e->cached = e->qps[i];
	return qp_make(e, &e->qps[i], key, r, qp);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static struct entry *entry_at(struct pending *set, uint64_t at)
{
	return &set->ring[at & (RING - 1)];
}

/* The entry with this number; NULL: there is none, or it was removed. */
static struct entry *entry_of(struct pending *set, uint64_t number)
{
	return number >= set->tail ? entry_at(set, number) : NULL;
}

static struct entry *newest(struct pending *set, uint64_t id)
{
	struct entry *en = entry_of(set, set->buckets[id & (BUCKETS - 1)]);

	while (en && en->identity != id)
		en = entry_of(set, en->next);
	return en;
}

static struct entry *newest_unmatched(struct pending *set, uint64_t id)
{
	struct entry *en = newest(set, id);

	return en ? entry_of(set, en->top) : NULL;
}

/* Counts a packet without a match, unless it may lie outside the time of the other capture. */
static void count_unmatched(struct rd_ends *e, enum rd_tap end, const struct entry *en)
{
	const struct pending *other = &e->pending[!end];
	bool edge = en->t < other->first + e->margin ||
		    (other->ended && en->t > other->last - e->margin);
	struct path_qp *w = en->to;
	struct rd_incident *incident = en->state == ENTRY_OPEN ? &w->only[end] : &w->copies[end];

	if (en->state == ENTRY_MATCHED)
		return;
	if (edge && en->state == ENTRY_OPEN) {
		e->outside++;
		return;
	}
	w->edge_copies[end] += edge;
	incident_add(incident, 1, en->frame, e->origin + (uint64_t)en->t);
}

/* The link to the newest entry of an identity; for a new identity, the link to be set. */
static uint64_t *link_of(struct pending *set, uint64_t id)
{
	uint64_t *link = &set->buckets[id & (BUCKETS - 1)];

	while (entry_of(set, *link) && entry_at(set, *link)->identity != id)
		link = &entry_at(set, *link)->next;
	return link;
}

static void remove_oldest(struct rd_ends *e, enum rd_tap end)
{
	struct pending *set = &e->pending[end];
	struct entry *en = entry_at(set, set->tail);

	if (en->newest)
		*link_of(set, en->identity) = en->next;
	count_unmatched(e, end, en);
	set->tail++;
}

static void remove_before(struct rd_ends *e, enum rd_tap end, int64_t t)
{
	struct pending *set = &e->pending[end];

	while (set->tail < set->head && entry_at(set, set->tail)->t < t)
		remove_oldest(e, end);
}

/* Adds an entry, which becomes the newest one of its identity. */
static void push(struct pending *set, const struct entry *en)
{
	uint64_t *link = link_of(set, en->identity);
	struct entry *old = entry_of(set, *link), *now = entry_at(set, set->head);

	*now = *en;
	now->newest = true;
	now->next = old ? old->next : 0;
	now->top = old ? old->top : 0;
	now->open = old ? old->open : 0;
	if (old)
		old->newest = false;
	if (en->state != ENTRY_MATCHED) {
		now->below = now->top;
		now->top = set->head;
	}
	if (en->state == ENTRY_OPEN)
		now->open = set->head;
	*link = set->head++;
}

static void add(struct rd_ends *e, enum rd_tap end, const struct entry *en)
{
	struct pending *set = &e->pending[end];

	if (set->head - set->tail == RING) {
		e->evicted += entry_at(set, set->tail)->state != ENTRY_MATCHED;
		remove_oldest(e, end);
	}
	push(set, en);
}

/* Marks the newest unmatched entry of an identity as matched; an older one becomes a copy. */
static void mark_matched(struct pending *set, struct entry *entry)
{
	struct entry *first = newest(set, entry->identity), *open = entry_of(set, first->open);

	entry->state = ENTRY_MATCHED;
	first->top = entry->below;
	first->open = 0;
	if (open && open != entry)
		open->state = ENTRY_COPY;
}

static void match(struct rd_ends *e, enum rd_tap end, const struct entry *here, struct entry *there)
{
	struct path_qp *w = here->to;
	const struct entry *at[RD_TAPS] = {there, there};
	uint64_t frame[RD_TAPS];
	int64_t distance;

	at[end] = here;
	frame[RD_TAP_A] = at[RD_TAP_A]->frame;
	frame[RD_TAP_B] = at[RD_TAP_B]->frame;
	distance = at[RD_TAP_B]->t - at[RD_TAP_A]->t;
	if (e->margin < 2 * llabs(distance) + MARGIN_NS)
		e->margin = 2 * llabs(distance) + MARGIN_NS;
	w->matched++;
	e->matched++;
	w->reordered += there->frame < w->last[!end];
	for (int i = 0; i < RD_TAPS; i++)
		if (frame[i] > w->last[i])
			w->last[i] = frame[i];
	mark_matched(&e->pending[!end], there);
	e->out_of_memory |= !distances_add(
		&w->path->d, at[RD_TAP_A]->t > 0 ? (uint64_t)at[RD_TAP_A]->t : 0, distance, frame);
}

static void take(struct rd_ends *e, enum rd_tap end, enum rd_link link, const struct rd_frame *f)
{
	struct pending *set = &e->pending[end], *other = &e->pending[!end];
	struct entry en = {.frame = ++set->frames}, *candidate;
	struct rd_packet p;
	struct route r;

	en.t = rd_ends_time(f->ts_ns, e->origin, end == RD_TAP_B ? e->offset : 0);
	set->last = en.t;
	if (!parse(link, f, &p) || !route_of(&p, &r))
		return;
	en.identity = identity(&p, &r);
	en.to = qp_find(e, &r, p.dest_qp);
	if (!en.to) {
		e->left_out++;
		return;
	}
	en.to->path->frames_out[end] += f->direction == RD_DIR_OUT;
	remove_before(e, RD_TAP_A, en.t - PATIENCE_NS);
	remove_before(e, RD_TAP_B, en.t - PATIENCE_NS);
	candidate = newest_unmatched(other, en.identity);
	if (candidate) {
		match(e, end, &en, candidate);
		en.state = ENTRY_MATCHED;
	} else if (newest(set, en.identity) || newest(other, en.identity)) {
		en.state = ENTRY_COPY;
	}
	add(e, end, &en);
}

void rd_ends_frames(struct rd_ends *e, enum rd_tap end, enum rd_link link,
	const struct rd_frame *frames, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		take(e, end, link, &frames[i]);
}

void rd_ends_file_end(struct rd_ends *e, enum rd_tap end)
{
	e->pending[end].ended = true;
	if (!e->pending[!end].ended)
		return;
	remove_before(e, RD_TAP_A, INT64_MAX);
	remove_before(e, RD_TAP_B, INT64_MAX);
}

int rd_ends_open(struct rd_ends **out, const uint64_t first_ns[RD_TAPS], int64_t offset_ns,
	struct rd_error *err)
{
	struct rd_ends *e = calloc(1, sizeof(*e));

	*out = e;
	if (!e)
		return rd_fail(
			err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for matching two captures");
	e->origin = first_ns[RD_TAP_A];
	e->offset = offset_ns;
	e->margin = MARGIN_NS;
	e->pending[RD_TAP_B].first = rd_ends_time(first_ns[RD_TAP_B], e->origin, offset_ns);
	e->qps = calloc(PATH_QP_SLOTS, sizeof(*e->qps));
	e->out_of_memory = !e->qps;
	for (int i = 0; i < RD_TAPS; i++) {
		e->pending[i].head = e->pending[i].tail = 1;
		e->pending[i].ring = calloc(RING, sizeof(struct entry));
		e->pending[i].buckets = calloc(BUCKETS, sizeof(uint64_t));
		e->out_of_memory |= !e->pending[i].ring || !e->pending[i].buckets;
	}
	if (!e->out_of_memory)
		return 0;
	rd_ends_close(e);
	*out = NULL;
	return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for matching two captures");
}

void rd_ends_close(struct rd_ends *e)
{
	if (!e)
		return;
	for (size_t i = 0; e->qps && i < PATH_QP_SLOTS; i++)
		free(e->qps[i]);
	for (size_t i = 0; i < e->n_paths; i++) {
		free(e->paths[i]->d.above);
		free(e->paths[i]->d.below);
		free(e->paths[i]);
	}
	for (int i = 0; i < RD_TAPS; i++) {
		free(e->pending[i].ring);
		free(e->pending[i].buckets);
	}
	free(e->qps);
	free(e);
}
