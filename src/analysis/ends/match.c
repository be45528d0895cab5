/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds each packet of one capture in the other. A retransmission has the same bytes: which copy
 * here is which one there is decided late (copies.c), when all of them are known, by IP ids if
 * these are kept on the path, and by the order and the times of the copies.
 */
#include "pending.h"
#include <rdmadump/hash.h>
#include <stdlib.h>

#define FIRST_NS ((int64_t)100000000)
#define YOUNG_NS ((int64_t)100000000)  /* its match may be captured yet */
#define TWIN_NS	 ((int64_t)4000)       /* between the copies of a mirror session */
#define STOP_NS	 ((int64_t)1000000000) /* a capture may end so long before its file says */

/* --- copies in one capture -------------------------------------------------------------------- */

/* Whether the delays vary so much that either may be the partner of the other's. */
static bool are_near(const struct entry *x, const struct entry *y)
{
	const struct extremes e = distances_expected(x->to->path);

	return llabs(x->t - y->t) <= e.max - e.min;
}

/*
 * Whether one transmission is in this capture twice, as a mirror session of both directions of a
 * port has it. Without IP ids that tell, most frames must be there twice: a sender that goes back
 * repeats its last packet as soon, and a receiver its last response.
 */
static bool are_twins(const struct pending *set, const struct entry *x, const struct entry *y)
{
	if (!same_packet(x, y))
		return false;
	if (ids_tell(x->to->path))
		return true;
	return llabs(x->t - y->t) <= TWIN_NS && set->near * 4 > set->tail;
}

/* Counts pairs of the same packet. More than two in a row are repeated, and not mirrored. */
static void note_near(struct pending *set, const struct entry *en, struct entry *heir)
{
	if (!same_packet(heir, en) || llabs(heir->t - en->t) > TWIN_NS)
		return;
	heir->in_row = en->in_row < 2 ? en->in_row + 1 : en->in_row;
	if (heir->in_row == 1)
		set->near++;
	else if (en->in_row == 1)
		set->near--;
}

static uint64_t transmission_of(const struct entry *en)
{
	struct rd_hash h = rd_hash_begin();

	rd_hash_add(&h, en->id[BY_BYTES]);
	rd_hash_add(&h, (uint64_t)en->icrc << 16 | en->ip_id);
	return rd_hash_end(&h, 2);
}

/* Keeps what the lists do not show once others follow. */
static void keep(struct rd_ends *e, struct bounded *in, uint64_t id, bool is_paired)
{
	bool made, *paired = bounded_take(in, id, 0, &made);

	e->out_of_memory |= !paired;
	if (paired)
		*paired = is_paired || (!made && *paired);
}

static void keep_removed(struct rd_ends *e, struct pending *set, const struct entry *en)
{
	const bool paired = en->state == ENTRY_PAIRED;

	if (en->request)
		keep(e, &set->requests, en->id[BY_PACKET], paired);
	if (ids_tell(en->to->path))
		keep(e, &set->transmissions, transmission_of(en), paired);
}

static void unlink_oldest(struct rd_ends *e, struct pending *set)
{
	struct entry *en = entry_at(set, set->tail), *heir = newer(set, en);
	const uint64_t open = en->open, paired = en->paired;

	if (heir) {
		heir->kin |= are_near(heir, en);
		heir->repeated = true;
		heir->copy |= same_packet(heir, en);
		heir->of_pair |=
			same_packet(heir, en) && (en->of_pair || en->state == ENTRY_PAIRED);
		note_near(set, en, heir);
		heir->twin |= are_twins(set, heir, en);
	}
	heir = unlink_from(set, BY_BYTES, en);
	if (heir && open > set->tail)
		heir->open = open;
	if (heir)
		heir->paired = paired;
	heir = unlink_from(set, BY_PACKET, en);
	if (heir)
		heir->earlier = true;
	keep_removed(e, set, en);
	set->tail++;
}

/* The entries from `at` on that may be what `en` is, or its partner. */
static unsigned int open_entries(
	struct pending *set, struct entry *at, const struct entry *en, struct entry **out)
{
	const bool ids = ids_kept(en->to->path);
	unsigned int n = 0;

	for (unsigned int i = 0; at && n < COPIES_MAX && (i < WALK || (ids && !n && i < WALK_IDS));
		at = next_of(set, at), i++)
		if (at->state == ENTRY_OPEN && same_bytes(at, en) &&
			(!ids || at->ip_id == en->ip_id))
			out[n++] = at;
	return n;
}

static struct entry *partner_of(struct rd_ends *e, enum rd_tap end, struct entry *en)
{
	struct pending *here = &e->pending[end], *there = &e->pending[!end];
	struct copies c;

	c.n_there = open_entries(there, oldest_open(there, en), en, c.there);
	if (!c.n_there) /* those that the other capture missed may be many */
		c.n_there = open_entries(there, last_paired(there, en), en, c.there);
	if (!c.n_there)
		return NULL;
	c.n_here = open_entries(here, en, en, c.here);
	return copies_partner(e, end, &c);
}

static bool has_near(struct pending *set, const struct entry *en)
{
	const struct entry *next = newer(set, en);

	return next && are_near(en, next);
}

/* The kind of a packet: QPs have one transport. */
static uint32_t opcode_bit(const struct entry *en)
{
	return UINT32_C(1) << (en->opcode & 0x1f);
}

static bool is_single(struct rd_ends *e, enum rd_tap end, const struct entry *en)
{
	return !en->repeated && !newer(&e->pending[end], en);
}

/* A packet outside of networks is in that of its partner. */
static struct path_qp *join(struct entry *x, struct entry *y)
{
	struct path_qp *w = y->to->path->keyed ? y->to : x->to;

	return x->to = y->to = w;
}

static void pair(struct rd_ends *e, enum rd_tap end, struct entry *here, struct entry *there)
{
	struct path_qp *w = join(here, there);
	const struct entry *at[RD_TAPS] = {there, there};
	uint64_t frame[RD_TAPS];
	bool proven, timed;

	at[end] = here;
	frame[RD_TAP_A] = at[RD_TAP_A]->frame;
	frame[RD_TAP_B] = at[RD_TAP_B]->frame;
	here->state = there->state = ENTRY_PAIRED;
	note_paired(&e->pending[!end], there);
	here->partner_frame = there->frame;
	here->partner_t = there->t;
	there->partner_frame = here->frame;
	there->partner_t = here->t;
	here->kin |= there->kin || has_near(&e->pending[end], here) ||
		     has_near(&e->pending[!end], there);
	there->kin = here->kin;
	here->single = there->single = is_single(e, end, here) && is_single(e, !end, there);
	w->matched++;
	w->requests += here->data;
	w->arrived_ops |= opcode_bit(here);
	for (int tap = 0; tap < RD_TAPS; tap++) {
		w->longest = RD_MAX(w->longest, at[tap]->length);
		w->last_matched[tap] = RD_MAX(w->last_matched[tap], frame[tap]);
	}
	e->matched++;
	e->at_once += at[RD_TAP_A]->t == at[RD_TAP_B]->t;
	proven = here->single || ids_tell(w->path);
	place_note(e, w->path, at, proven);
	/* Where only one capture ran, the packet may be another copy than the other one has. */
	timed = proven &&
		(ids_tell(w->path) || (both_ran(e, end, here) && both_ran(e, !end, there)));
	e->out_of_memory |= !distances_add(&w->path->d, at[RD_TAP_A]->t,
		at[RD_TAP_B]->t - at[RD_TAP_A]->t, timed ? frame : NULL);
}

/* --- what a packet counts as ------------------------------------------------------------------ */

/*
 * Whether a packet comes after one that left the other end later; if not, it is the latest one. In
 * the order of a file: the times must agree, since captures may merge queues out of order.
 */
static bool is_late(struct latest *l, enum rd_tap end, const struct entry *en)
{
	if (en->partner_frame <= l->frame)
		return en->t >= l->t[end] && en->partner_t <= l->t[!end];
	l->frame = en->partner_frame;
	l->t[end] = en->t;
	l->t[!end] = en->partner_t;
	return false;
}

static void count_order(enum rd_tap end, const struct entry *en)
{
	struct path_qp *w = en->to;
	const struct latest before = w->latest[end];
	const bool ids = ids_tell(w->path), of_all = is_late(&w->latest_of_all[end], end, en);

	/* The partner of one with `kin` may be another packet. */
	w->order_unknown[end] += !ids && en->kin;
	if ((ids || !en->kin) && is_late(&w->latest[end], end, en)) {
		w->reordered[end]++;
		w->reordered_proven[end] += (en->single || ids) && en->t > before.t[end] &&
					    en->partner_t < before.t[!end];
	} else if (of_all) {
		w->order_unclear[end]++;
	}
}

/* Whether this is one packet more with these bytes and this IP id than the other end has. */
static bool is_copy(struct pending *here, struct pending *there, const struct entry *en)
{
	const bool waits = oldest_like(there, en) != NULL;
	const struct entry *x = newer(here, en);

	if (en->copy)
		return true;
	for (unsigned int i = 0; x && i < WALK; x = newer(here, x), i++)
		if (same_packet(x, en) && (waits || x->state == ENTRY_PAIRED))
			return true;
	return false;
}

/* Whether this is in this capture once more than it was transmitted, or than the other one has. */
static bool is_twin(struct pending *here, const struct entry *en)
{
	struct entry *next = newer(here, en);
	const bool last = !next || !are_twins(here, next, en);

	if (en->twin && !en->lonely)
		return true;
	if (!last)
		next->lonely = true;
	return !last;
}

/* What both ends had before this packet could arrive, and what the other one had after. */
static void other_transmissions(
	struct pending *there, enum rd_tap end, const struct entry *en, struct record *out)
{
	const struct extremes x = distances_expected(en->to->path);
	const int64_t from = end == RD_TAP_A ? en->t + x.min : en->t - x.max;
	const struct entry *o = oldest(there, BY_PACKET, en);

	out->soonest = from;
	out->earlier = en->earlier || (o && (o->earlier || o->t < from)) ||
		       bounded_find(&there->requests, en->id[BY_PACKET], 0);
	out->again = o ? o->t : INT64_MAX;
}

static void count_alone(struct rd_ends *e, enum rd_tap end, struct entry *en)
{
	struct pending *here = &e->pending[end], *there = &e->pending[!end];
	const uint64_t ns = e->start + (uint64_t)en->t;
	struct path_qp *w = en->to;
	struct record record = {.to = w,
		.frame = en->frame,
		.ns = ns,
		.t = en->t,
		.psn = en->psn,
		.end = (uint8_t)end,
		.request = en->request,
		.data = en->data};

	bool copy, twin;

	/* Perhaps not as the last one of its bytes. */
	if (ids_tell(w->path)) {
		const bool *paired = bounded_find(&here->transmissions, transmission_of(en), 0);

		en->copy |= paired != NULL;
		en->of_pair |= paired && *paired;
	}
	copy = is_copy(here, there, en);
	twin = copy && is_twin(here, en);
	/* A copy after that in the other capture is a duplicate, even if that capture has ended. */
	if (!both_ran(e, end, en) && !(en->of_pair && ids_tell(w->path))) {
		w->outside[end]++;
		return;
	}
	if (twin) {
		incident_add(&w->twins[end], 1, en->frame, ns);
		return;
	}
	w->runs[end] += !w->in_run[end];
	w->lone_runs[end] += !w->in_run[end] && (!copy || ids_tell(w->path));
	w->in_run[end] = true;
	w->only_ops[end] |= opcode_bit(en);
	if (!w->shortest[end] || en->length < w->shortest[end])
		w->shortest[end] = en->length;
	incident_add(copy ? &w->copies[end] : &w->only[end], 1, en->frame, ns);
	other_transmissions(there, end, en, &record);
	evidence_keep(e, &record);
}

static void remove_oldest(struct rd_ends *e, enum rd_tap end)
{
	struct pending *set = &e->pending[end];
	struct entry *en = entry_at(set, set->tail), *partner;

	if (en->state == ENTRY_OPEN) {
		partner = partner_of(e, end, en);
		if (partner)
			pair(e, end, en, partner);
		else
			en->state = ENTRY_ALONE;
	}
	if (en->state == ENTRY_PAIRED) {
		en->to->in_run[end] = false;
		en->to->single += end == RD_TAP_A && !en->repeated && !newer(set, en);
		count_order(end, en);
	} else {
		count_alone(e, end, en);
	}
	unlink_oldest(e, set);
}

/* The next entry to be removed; NULL: there is none. */
static struct entry *first_of(struct pending *set)
{
	return set->tail < set->head ? entry_at(set, set->tail) : NULL;
}

/* When a packet of B's capture was sent or received at A, at the earliest that is usual. */
static int64_t time_at_a(const struct entry *en)
{
	struct extremes x;

	return distances_recent(&en->to->path->d, &x) ? en->t - x.max : en->t;
}

/*
 * In the order of time at one place, since what is expected of a packet follows from those around
 * it, and since a packet must be removed before its retransmissions at the other end are. The first
 * estimate of the offset may be wrong by a delay.
 */
static void remove_before(struct rd_ends *e, int64_t t)
{
	for (;;) {
		const struct entry *a = first_of(&e->pending[RD_TAP_A]);
		const struct entry *b = first_of(&e->pending[RD_TAP_B]);
		enum rd_tap end = b && (!a || time_at_a(b) < a->t) ? RD_TAP_B : RD_TAP_A;

		if ((!a && !b) || (end == RD_TAP_B ? b : a)->t >= t)
			return;
		remove_oldest(e, end);
	}
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Distances and IP ids of packets that are there once at each end. */
static void note_unique(struct rd_ends *e, enum rd_tap end, struct entry *en)
{
	struct pending *here = &e->pending[end], *there = &e->pending[!end];
	const struct entry *o = oldest_like(there, en);
	struct path *p = en->to->path;
	struct extremes x;

	p->id_changes += en->ip_id != p->ip_id;
	p->ip_id = en->ip_id;
	/* Either may lack the ICRC: then the other one is compared without it. */
	if (!o || first_like(there, next_of(there, o), en) || o->copy || o->state != ENTRY_OPEN ||
		oldest_like(here, o) != en || en->copy)
		return;
	p = o->to->path->keyed ? o->to->path : p;
	if (o->ip_id == en->ip_id)
		p->same_id++;
	else
		p->other_id++;
	x.min = x.max = end == RD_TAP_B ? en->t - o->t : o->t - en->t;
	if (!p->first_until) {
		p->first = (struct extremes){x.min, x.max, 0, 0};
		p->first_until = en->t + FIRST_NS;
	} else if (en->t < p->first_until) {
		p->first.min = RD_MIN(p->first.min, x.min);
		p->first.max = RD_MAX(p->first.max, x.max);
	}
}

static void add(struct rd_ends *e, enum rd_tap end, const struct entry *en)
{
	struct pending *set = &e->pending[end];

	if (set->head - set->tail == set->size) {
		const struct entry *old = entry_at(set, set->tail);

		e->evicted += old->state == ENTRY_OPEN && !oldest_like(&e->pending[!end], old) &&
			      en->t - old->t < YOUNG_NS;
		remove_oldest(e, end);
	}
	note_unique(e, end, push(set, en));
}

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		const int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

void rd_ends_clock_add(struct rd_ends_clock *c, uint64_t ns)
{
	const int64_t since = rd_ends_time(ns, c->last_ns, 0);

	c->last_ns = ns;
	c->fine |= ns % 1000 != 0;
	if (++c->frames < 2)
		return;
	c->equal += !since;
	c->close += since >= 0 && since < BURST_NS;
	if (c->divisor >= CLOCK_TICK_MIN || !c->divisor)
		c->divisor = common_divisor(llabs(since), c->divisor);
	if (since > 0 && (!c->shortest || since < c->shortest))
		c->shortest = since;
}

bool rd_ends_known(const struct rd_ends_start *start, const struct rd_ends_address *a,
	const struct rd_ends_address *b)
{
	const struct rd_ends_address *list = start->addresses;
	const size_t n = start->n_addresses;

	return !list || (bsearch(a, list, n, sizeof(*a), rd_ends_address_order) &&
				bsearch(b, list, n, sizeof(*b), rd_ends_address_order));
}

/* In A's clock, as far as it is known. */
static int64_t time_of(const struct rd_ends *e, enum rd_tap end, uint64_t ns)
{
	return rd_ends_time(ns, e->origin, end == RD_TAP_B ? e->offset : 0);
}

void rd_ends_take(struct rd_ends *e, enum rd_tap end, const struct rd_ends_packet *p)
{
	const struct path_key r = {p->net, p->address_length, p->network,
		(const uint8_t *)p->from.word, (const uint8_t *)p->to.word};
	struct entry en = {.id = {[BY_BYTES] = p->bytes, [BY_PACKET] = p->packet},
		.frame = p->frame,
		.t = time_of(e, end, p->ns),
		.to = path_qp_find(e, &r, p->qp),
		.psn = p->psn,
		.icrc = p->icrc,
		.network = p->network,
		.ip_id = p->ip_id,
		.length = p->length,
		.ttl = p->ttl,
		.opcode = p->opcode,
		.whole = p->whole,
		.request = p->request,
		.data = p->data};

	if (!en.to) {
		e->left_out++;
		return;
	}
	en.to->path->frames_out[end] += p->direction == RD_DIR_OUT;
	en.to->path->frames_in[end] += p->direction == RD_DIR_IN;
	evidence_note(e, end, p, en.to, en.t);
	remove_before(e, en.t - PATIENCE_NS);
	add(e, end, &en);
}

void rd_ends_frames(struct rd_ends *e, enum rd_tap end, enum rd_link link,
	const struct rd_frame *frames, unsigned int n)
{
	struct pending *set = &e->pending[end];

	for (unsigned int i = 0; i < n; i++) {
		struct rd_ends_packet p;

		rd_ends_clock_add(&set->clock, frames[i].ts_ns);
		set->last = time_of(e, end, frames[i].ts_ns);
		if (!rd_ends_packet(link, &frames[i], &p))
			continue;
		p.frame = set->clock.frames;
		if (rd_ends_known(&e->known, &p.from, &p.to))
			rd_ends_take(e, end, &p);
		else
			e->elsewhere++;
	}
}

void rd_ends_capture(struct rd_ends *e, enum rd_tap end, const struct rd_ends_capture *capture,
	uint64_t elsewhere)
{
	e->pending[end].clock = capture->clock;
	e->pending[end].last = time_of(e, end, capture->clock.last_ns);
	e->elsewhere += elsewhere;
}

void rd_ends_file_end(struct rd_ends *e, enum rd_tap end, uint64_t ran_until_ns)
{
	struct pending *set = &e->pending[end];

	set->ended = true;
	set->last = RD_MAX(set->last, time_of(e, end, ran_until_ns) - STOP_NS);
	if (e->pending[!end].ended)
		remove_before(e, INT64_MAX);
}
