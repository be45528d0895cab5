/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds each packet of one capture in the other, by a hash of those that wait for their match. */
#include "ends.h"
#include <errno.h>
#include <rdmadump/hash.h>
#include <stdlib.h>

#define PATIENCE_NS ((int64_t)1000000000)
#define MARGIN_NS   ((int64_t)1000000)
#define ECN_BITS    0x30 /* FECN and BECN, in the fifth byte of the BTH */

/* Where a packet goes: addresses, or LIDs where there is no network header. */
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

/* Adds the route to a hash; returns how many words that were. */
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

uint64_t rd_ends_identity(enum rd_link link, const struct rd_frame *frame)
{
	struct rd_packet p;
	struct route r;

	if (!rd_packet_parse(link, frame->data, frame->caplen, frame->len, &p) || !route_of(&p, &r))
		return 0;
	return identity(&p, &r);
}

/* --- paths and their QPs ---------------------------------------------------------------------- */

static bool same_route(const struct path *p, const struct route *r)
{
	return p->net == r->net && !memcmp(p->src, r->src, r->length) &&
	       !memcmp(p->dst, r->dst, r->length);
}

/* The slot of a route: that of its path, or the empty slot for it. */
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

static struct entry *place(struct waiting_room *room, uint64_t at)
{
	return &room->ring[at & (RING - 1)];
}

/* The entry with this number; NULL: none, or removed. */
static struct entry *entry_of(struct waiting_room *room, uint64_t number)
{
	return number >= room->tail ? place(room, number) : NULL;
}

static struct entry *newest(struct waiting_room *room, uint64_t id)
{
	struct entry *en = entry_of(room, room->buckets[id & (BUCKETS - 1)]);

	while (en && en->identity != id)
		en = entry_of(room, en->next);
	return en;
}

static struct entry *newest_unmatched(struct waiting_room *room, uint64_t id)
{
	struct entry *en = newest(room, id);

	return en ? entry_of(room, en->top) : NULL;
}

/* No match was found: counts it, unless the other capture may have missed its time. */
static void give_up(struct rd_ends *e, enum rd_tap end, const struct entry *en)
{
	const struct waiting_room *other = &e->rooms[!end];
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

/* The link to the newest entry of an identity, or where it belongs. */
static uint64_t *link_of(struct waiting_room *room, uint64_t id)
{
	uint64_t *link = &room->buckets[id & (BUCKETS - 1)];

	while (entry_of(room, *link) && place(room, *link)->identity != id)
		link = &place(room, *link)->next;
	return link;
}

static void leave(struct rd_ends *e, enum rd_tap end)
{
	struct waiting_room *room = &e->rooms[end];
	struct entry *en = place(room, room->tail);

	if (en->newest)
		*link_of(room, en->identity) = en->next;
	give_up(e, end, en);
	room->tail++;
}

static void leave_before(struct rd_ends *e, enum rd_tap end, int64_t t)
{
	struct waiting_room *room = &e->rooms[end];

	while (room->tail < room->head && place(room, room->tail)->t < t)
		leave(e, end);
}

/* Adds an entry, which becomes the newest of its identity. */
static void push(struct waiting_room *room, const struct entry *en)
{
	uint64_t *link = link_of(room, en->identity);
	struct entry *old = entry_of(room, *link), *now = place(room, room->head);

	*now = *en;
	now->newest = true;
	now->next = old ? old->next : 0;
	now->top = old ? old->top : 0;
	now->open = old ? old->open : 0;
	if (old)
		old->newest = false;
	if (en->state != ENTRY_MATCHED) {
		now->below = now->top;
		now->top = room->head;
	}
	if (en->state == ENTRY_OPEN)
		now->open = room->head;
	*link = room->head++;
}

static void enter(struct rd_ends *e, enum rd_tap end, const struct entry *en)
{
	struct waiting_room *room = &e->rooms[end];

	if (room->head - room->tail == RING) {
		e->evicted += place(room, room->tail)->state != ENTRY_MATCHED;
		leave(e, end);
	}
	push(room, en);
}

/* The newest one without a match gets its match; others of the identity are copies. */
static void take_twin(struct waiting_room *room, struct entry *twin)
{
	struct entry *first = newest(room, twin->identity), *open = entry_of(room, first->open);

	twin->state = ENTRY_MATCHED;
	first->top = twin->below;
	first->open = 0;
	if (open && open != twin)
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
	take_twin(&e->rooms[!end], there);
	e->out_of_memory |= !distances_add(
		&w->path->d, at[RD_TAP_A]->t > 0 ? (uint64_t)at[RD_TAP_A]->t : 0, distance, frame);
}

static void take(struct rd_ends *e, enum rd_tap end, enum rd_link link, const struct rd_frame *f)
{
	struct waiting_room *room = &e->rooms[end], *other = &e->rooms[!end];
	struct entry en = {.frame = ++room->frames}, *twin;
	struct rd_packet p;
	struct route r;

	en.t = rd_ends_time(f->ts_ns, e->origin, end == RD_TAP_B ? e->offset : 0);
	room->last = en.t;
	if (!rd_packet_parse(link, f->data, f->caplen, f->len, &p) || !route_of(&p, &r))
		return;
	en.identity = identity(&p, &r);
	en.to = qp_find(e, &r, p.dest_qp);
	if (!en.to) {
		e->left_out++;
		return;
	}
	en.to->path->frames_out[end] += f->direction == RD_DIR_OUT;
	leave_before(e, RD_TAP_A, en.t - PATIENCE_NS);
	leave_before(e, RD_TAP_B, en.t - PATIENCE_NS);
	twin = newest_unmatched(other, en.identity);
	if (twin) {
		match(e, end, &en, twin);
		en.state = ENTRY_MATCHED;
	} else if (newest(room, en.identity) || newest(other, en.identity)) {
		en.state = ENTRY_COPY;
	}
	enter(e, end, &en);
}

void rd_ends_frames(struct rd_ends *e, enum rd_tap end, enum rd_link link,
	const struct rd_frame *frames, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		take(e, end, link, &frames[i]);
}

void rd_ends_file_end(struct rd_ends *e, enum rd_tap end)
{
	e->rooms[end].ended = true;
	if (!e->rooms[!end].ended)
		return;
	leave_before(e, RD_TAP_A, INT64_MAX);
	leave_before(e, RD_TAP_B, INT64_MAX);
}

int rd_ends_open(struct rd_ends **out, const uint64_t first_ns[RD_TAPS], int64_t offset_ns,
	struct rd_error *err)
{
	struct rd_ends *e = calloc(1, sizeof(*e));

	*out = e;
	if (!e)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "two ends");
	e->origin = first_ns[RD_TAP_A];
	e->offset = offset_ns;
	e->margin = MARGIN_NS;
	e->rooms[RD_TAP_B].first = rd_ends_time(first_ns[RD_TAP_B], e->origin, offset_ns);
	e->qps = calloc(PATH_QP_SLOTS, sizeof(*e->qps));
	e->out_of_memory = !e->qps;
	for (int i = 0; i < RD_TAPS; i++) {
		e->rooms[i].head = e->rooms[i].tail = 1;
		e->rooms[i].ring = calloc(RING, sizeof(struct entry));
		e->rooms[i].buckets = calloc(BUCKETS, sizeof(uint64_t));
		e->out_of_memory |= !e->rooms[i].ring || !e->rooms[i].buckets;
	}
	if (!e->out_of_memory)
		return 0;
	rd_ends_close(e);
	*out = NULL;
	return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "two ends");
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
		free(e->rooms[i].ring);
		free(e->rooms[i].buckets);
	}
	free(e->qps);
	free(e);
}
