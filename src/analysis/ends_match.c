/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds each packet of one capture in the other: an open hash of those that wait for their twin. */
#include "ends.h"
#include <errno.h>
#include <stdlib.h>

#define PATIENCE_NS ((int64_t)1000000000)
#define MARGIN_NS   ((int64_t)1000000)
#define ECN_BITS    0x30 /* FECN and BECN, in the fifth byte of the BTH */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	__uint128_t product = (__uint128_t)(hash ^ value) * 0x9e3779b97f4a7c15U;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t mix_bytes(uint64_t hash, const uint8_t *p, size_t n)
{
	for (; n >= 4; p += 4, n -= 4)
		hash = mix(hash, rd_be32(p));
	return hash;
}

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

static uint64_t hash_route(const struct route *r)
{
	uint64_t hash = 0x243f6a8885a308d3U;

	if (r->length == 2)
		return mix(mix(hash, rd_be16(r->src)), rd_be16(r->dst));
	return mix_bytes(mix_bytes(hash, r->src, r->length), r->dst, r->length);
}

static uint64_t identity(const struct rd_packet *p, const struct route *r)
{
	const uint8_t *bth = p->data + p->bth;
	uint64_t hash = hash_route(r);

	hash = mix(hash, rd_be32(bth));
	hash = mix(hash, rd_be32(bth + 4) & ~((uint32_t)ECN_BITS << 24));
	hash = mix(hash, rd_be32(bth + 8));
	if (p->icrc && p->icrc + RD_ICRC_LEN <= p->caplen)
		hash = mix(hash, rd_be32(p->data + p->icrc));
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

/* --- paths and ways ------------------------------------------------------------------------ */

static bool same_route(const struct path *p, const struct route *r)
{
	return p->net == r->net && !memcmp(p->src, r->src, r->length) &&
	       !memcmp(p->dst, r->dst, r->length);
}

static struct path *path_find(struct rd_ends *e, const struct route *r)
{
	struct route back = {r->net, r->length, r->dst, r->src};
	struct path *p, *reverse = NULL;

	for (size_t i = 0; i < e->n_paths; i++) {
		if (same_route(e->paths[i], r))
			return e->paths[i];
		if (same_route(e->paths[i], &back))
			reverse = e->paths[i];
	}
	p = e->n_paths < PATHS_MAX ? calloc(1, sizeof(*p)) : NULL;
	if (!p) {
		e->out_of_memory |= e->n_paths < PATHS_MAX;
		return NULL;
	}
	p->net = r->net;
	memcpy(p->src, r->src, r->length);
	memcpy(p->dst, r->dst, r->length);
	p->reverse = reverse;
	if (reverse)
		reverse->reverse = p;
	e->paths[e->n_paths++] = p;
	return p;
}

static struct way *way_make(
	struct rd_ends *e, struct way **slot, uint64_t key, const struct route *r, uint32_t qp)
{
	struct path *path = e->n_ways < WAYS_MAX ? path_find(e, r) : NULL;

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
	e->n_ways++;
	return *slot;
}

static struct way *way_find(struct rd_ends *e, const struct route *r, uint32_t qp)
{
	uint64_t key = mix(hash_route(r), qp);
	size_t i = (size_t)(key & (WAY_SLOTS - 1));

	if (e->cached && e->cached->key == key)
		return e->cached;
	for (; e->ways[i]; i = (i + 1) & (WAY_SLOTS - 1))
		if (e->ways[i]->key == key)
			return e->cached = e->ways[i];
	return way_make(e, &e->ways[i], key, r, qp);
}

/* --- waiting --------------------------------------------------------------------------------- */

static struct entry *place(struct waiting_room *room, uint64_t at)
{
	return &room->ring[at & (RING - 1)];
}

static struct entry *older(struct waiting_room *room, const struct entry *en)
{
	return en->next ? &room->ring[en->next - 1] : NULL;
}

static struct entry *newest(struct waiting_room *room, uint64_t id)
{
	uint32_t first = room->buckets[id & (BUCKETS - 1)];
	struct entry *en = first ? &room->ring[first - 1] : NULL;

	while (en && en->identity != id)
		en = older(room, en);
	return en;
}

static struct entry *newest_unmatched(struct waiting_room *room, uint64_t id)
{
	struct entry *en = newest(room, id);

	while (en && (en->identity != id || en->state == ENTRY_MATCHED))
		en = older(room, en);
	return en;
}

/* It never showed up at the other end: whether it could have is known by now. */
static void give_up(struct rd_ends *e, enum rd_tap end, const struct entry *en)
{
	const struct waiting_room *other = &e->rooms[!end];
	bool edge = en->t < other->first + e->margin ||
		    (other->ended && en->t > other->last - e->margin);
	struct way *w = en->way;
	struct rd_event *event = en->state == ENTRY_OPEN ? &w->only[end] : &w->copies[end];

	if (en->state == ENTRY_MATCHED)
		return;
	if (edge && en->state == ENTRY_OPEN) {
		e->outside++;
		return;
	}
	w->edge_copies[end] += edge;
	event_add(event, 1, en->frame, e->origin + (uint64_t)en->t);
}

static void leave(struct rd_ends *e, enum rd_tap end)
{
	struct waiting_room *room = &e->rooms[end];
	struct entry *en = place(room, room->tail);
	uint32_t number = (uint32_t)(room->tail & (RING - 1)) + 1;
	uint32_t *link = &room->buckets[en->identity & (BUCKETS - 1)];

	while (*link != number)
		link = &room->ring[*link - 1].next;
	*link = en->next;
	give_up(e, end, en);
	room->tail++;
}

static void leave_before(struct rd_ends *e, enum rd_tap end, int64_t t)
{
	struct waiting_room *room = &e->rooms[end];

	while (room->tail < room->head && place(room, room->tail)->t < t)
		leave(e, end);
}

static void enter(struct rd_ends *e, enum rd_tap end, const struct entry *en)
{
	struct waiting_room *room = &e->rooms[end];
	uint32_t *bucket = &room->buckets[en->identity & (BUCKETS - 1)];

	if (room->head - room->tail == RING) {
		e->crowded += place(room, room->tail)->state != ENTRY_MATCHED;
		leave(e, end);
	}
	*place(room, room->head) = *en;
	place(room, room->head)->next = *bucket;
	*bucket = (uint32_t)(room->head & (RING - 1)) + 1;
	room->head++;
}

static void match(struct rd_ends *e, enum rd_tap end, const struct entry *here, struct entry *there)
{
	struct way *w = here->way;
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
	there->state = ENTRY_MATCHED;
	for (struct entry *old = older(&e->rooms[!end], there); old;
		old = older(&e->rooms[!end], old))
		if (old->identity == there->identity && old->state == ENTRY_OPEN)
			old->state = ENTRY_COPY;
	e->out_of_memory |= !distances_add(
		&w->path->d, at[RD_TAP_A]->t > 0 ? (uint64_t)at[RD_TAP_A]->t : 0, distance, frame);
}

static void take(struct rd_ends *e, enum rd_tap end, enum rd_link link, const struct rd_frame *f)
{
	struct waiting_room *room = &e->rooms[end], *other = &e->rooms[!end];
	struct entry en = {.frame = ++room->frames}, *twin;
	struct rd_packet p;
	struct route r;

	en.t = (int64_t)(f->ts_ns - e->origin) - (end == RD_TAP_B ? e->offset : 0);
	room->last = en.t;
	if (!rd_packet_parse(link, f->data, f->caplen, f->len, &p) || !route_of(&p, &r))
		return;
	en.identity = identity(&p, &r);
	en.way = way_find(e, &r, p.dest_qp);
	if (!en.way) {
		e->left_out++;
		return;
	}
	en.way->path->frames_out[end] += f->direction == RD_DIR_OUT;
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
	e->rooms[RD_TAP_B].first = (int64_t)(first_ns[RD_TAP_B] - e->origin) - offset_ns;
	e->ways = calloc(WAY_SLOTS, sizeof(*e->ways));
	e->out_of_memory = !e->ways;
	for (int i = 0; i < RD_TAPS; i++) {
		e->rooms[i].ring = calloc(RING, sizeof(struct entry));
		e->rooms[i].buckets = calloc(BUCKETS, sizeof(uint32_t));
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
	for (size_t i = 0; e->ways && i < WAY_SLOTS; i++)
		free(e->ways[i]);
	for (size_t i = 0; i < e->n_paths; i++) {
		free(e->paths[i]->d.above);
		free(e->paths[i]->d.below);
		free(e->paths[i]);
	}
	for (int i = 0; i < RD_TAPS; i++) {
		free(e->rooms[i].ring);
		free(e->rooms[i].buckets);
	}
	free(e->ways);
	free(e);
}
