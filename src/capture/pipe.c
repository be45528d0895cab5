/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The way of a batch: direction, decapsulation, filter, cut, chunk; every frame accounted for. */
#include "lane.h"
#include <stdio.h>
#include <string.h>

#define STOP_MS 100 /* how long a stalled output is waited for between two looks */

/* --- the sink --------------------------------------------------------------------------- */

/* Frames that were filtered or dropped are in no stripe: they count in the first. */
struct rd_tally lane_stripe_tally(const struct lane *l, unsigned int stripe, unsigned int iface)
{
	struct rd_tally t = {.encoded = l->striped[stripe][iface]};

	if (stripe == 0) {
		t.filtered = l->tally[iface].filtered;
		t.dropped = l->tally[iface].dropped;
	}
	t.delivered = t.encoded + t.filtered + t.dropped;
	return t;
}

void lane_chunk_put(struct lane *l)
{
	uint64_t last_ns = l->chunk->last_ns;

	for (unsigned int i = 0; i < l->config->encoder->n_ifaces; i++) {
		l->striped[l->at][i] += l->tally[i].encoded - l->put[i];
		l->put[i] = l->tally[i].encoded;
		l->chunk->tally[i] = lane_stripe_tally(l, l->at, i);
	}
	/* Other stripes' writers wait for frames that have gone into this one. */
	for (unsigned int i = 0; l->config->merged && l->chunk->frames && i < l->n_feeds; i++)
		if (i != l->at)
			rd_feed_watermark(l->feeds[i], last_ns);
	rd_feed_put(l->feeds[l->at], l->chunk);
	l->chunk = NULL;
	l->chunk_since = 0;
}

/* Of the next stripe in turn that has one: a slow disk does not hold the others. */
static struct rd_chunk *chunk_next(struct lane *l)
{
	for (unsigned int i = 1; i <= l->n_feeds; i++) {
		unsigned int at = (l->at + i) % l->n_feeds;
		struct rd_chunk *c = l->n_feeds > 1 && rd_feed_ended(l->feeds[at])
					     ? NULL
					     : rd_feed_get(l->feeds[at]);

		if (!c)
			continue;
		l->at = at;
		return c;
	}
	return NULL;
}

static bool any_ended(const struct lane *l)
{
	for (unsigned int i = 0; i < l->n_feeds; i++)
		if (rd_feed_ended(l->feeds[i]))
			return true;
	return false;
}

/* True if there is none in any feed: the first that comes back wakes this thread. */
static bool await_chunk(struct lane *l)
{
	bool none = true;

	for (unsigned int i = 0; i < l->n_feeds && none; i++)
		none = rd_feed_arm_for_chunk(l->feeds[i]);
	return none;
}

static struct rd_chunk *chunk_wait(struct lane *l)
{
	struct rd_chunk *c;

	while (!(c = chunk_next(l))) {
		if (l->config->when_full == RD_FULL_END)
			engine_end(l->e, RD_END_MEMORY, NULL);
		if (l->config->when_full != RD_FULL_WAIT || any_ended(l) || l->e->abandon)
			return NULL;
		if (await_chunk(l))
			lane_look(l, STOP_MS);
	}
	return c;
}

/* Makes sure of a chunk with room; false when there is none and the policy says to drop. */
static bool chunk_get(struct lane *l)
{
	if (l->chunk)
		return true;
	l->chunk = chunk_wait(l);
	if (!l->chunk)
		return false;
	l->chunk->rotate = l->turn[l->at];
	l->turn[l->at] = false;
	return true;
}

/* --- accounting ------------------------------------------------------------------------- */

enum tally_field { DELIVERED, ENCODED, FILTERED, DROPPED };

static void tally_add(struct rd_tally *t, enum tally_field field, uint64_t n)
{
	switch (field) {
	case DELIVERED:
		lane_add(&t->delivered, n);
		break;
	case ENCODED:
		lane_add(&t->encoded, n);
		break;
	case FILTERED:
		lane_add(&t->filtered, n);
		break;
	case DROPPED:
		lane_add(&t->dropped, n);
		break;
	}
}

/* Adds `each` (1, or -1 to take back) per frame to its interface's tally. */
static void tally(struct lane *l, enum tally_field field, unsigned int source,
	const struct rd_frame *frames, unsigned int n, int each)
{
	const struct rd_source *s = l->config->sources[source];

	if (s->n_ifaces <= 1) {
		tally_add(&l->tally[l->e->base[source]], field, (uint64_t)((int64_t)n * each));
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		tally_add(&l->tally[frames[i].iface], field, (uint64_t)(int64_t)each);
}

/* --- encoding --------------------------------------------------------------------------- */

static void encoded(struct lane *l, unsigned int source, const struct rd_frame *frames,
	unsigned int n, size_t bytes)
{
	struct rd_chunk *c = l->chunk;

	if (!n)
		return;
	if (!c->frames)
		c->first_ns = frames[0].ts_ns;
	c->last_ns = frames[n - 1].ts_ns;
	__atomic_store_n(&l->newest_ns, c->last_ns, __ATOMIC_RELAXED);
	c->used += bytes;
	c->frames += n;
	tally(l, ENCODED, source, frames, n, 1);
}

/* The first frame after something happened carries the news, beside a note of its own. */
static unsigned int encode_noted(struct lane *l, unsigned int source, const struct rd_frame *frame,
	const struct rd_note *own)
{
	const struct rd_encoder *enc = l->config->encoder;
	struct rd_source *s = l->config->sources[source];
	struct rd_note note = {.dropped = l->lost[frame->iface] + (own ? own->dropped : 0),
		.comment = s->note[0] ? s->note : NULL};
	struct rd_chunk *c = l->chunk;
	char both[RD_NOTE_MAX];
	size_t used;

	if (own && own->comment && note.comment) {
		snprintf(both, sizeof(both), "%s; %s", own->comment, note.comment);
		note.comment = both;
	} else if (own && own->comment) {
		note.comment = own->comment;
	}
	used = enc->format->noted(enc, frame, &note, c->data + c->used, c->room - c->used);
	if (!used)
		return 0;
	encoded(l, source, frame, 1, used);
	l->lost[frame->iface] = 0;
	s->note[0] = '\0';
	return 1;
}

static unsigned int encode_plain(
	struct lane *l, unsigned int source, const struct rd_frame *frames, unsigned int n)
{
	const struct rd_encoder *enc = l->config->encoder;
	struct rd_chunk *c = l->chunk;
	size_t used;
	unsigned int done =
		enc->format->frames(enc, frames, n, c->data + c->used, c->room - c->used, &used);

	encoded(l, source, frames, done, used);
	return done;
}

static void drop(struct lane *l, unsigned int source, const struct rd_frame *frames, unsigned int n,
	const struct rd_note *own)
{
	tally(l, DROPPED, source, frames, n, 1);
	for (unsigned int i = 0; i < n; i++)
		l->lost[frames[i].iface]++;
	if (own)
		l->lost[frames[0].iface] += own->dropped;
}

/* own: the note of the only frame, NULL if it has none. */
static void encode(struct lane *l, unsigned int source, const struct rd_frame *frames,
	unsigned int n, const struct rd_note *own)
{
	while (n) {
		bool noted = own || l->lost[frames->iface] || l->config->sources[source]->note[0];
		unsigned int want = noted ? 1 : n, done;

		if (!chunk_get(l)) {
			drop(l, source, frames, n, own);
			return;
		}
		done = noted ? encode_noted(l, source, frames, own)
			     : encode_plain(l, source, frames, n);
		if (done < want)
			lane_chunk_put(l);
		frames += done;
		n -= done;
	}
}

/* The next frame begins a new file, in each stripe its next one. */
static void turn(struct lane *l)
{
	if (l->chunk)
		lane_chunk_put(l);
	for (unsigned int i = 0; i < l->n_feeds; i++)
		l->turn[i] = true;
}

/* Cuts the batch where a slice of the frames' time ends. */
static void encode_slices(struct lane *l, unsigned int source, const struct rd_frame *frames,
	unsigned int n, const struct rd_note *own)
{
	uint64_t slice = l->config->slice_ns;
	unsigned int from = 0;

	if (!n)
		return;
	if (__builtin_expect(atomic_load_explicit(&l->turn_asked, memory_order_relaxed), 0)) {
		l->turn_asked = false;
		turn(l);
	}
	for (unsigned int i = 0; slice && i < n; i++) {
		if (!l->slice_end)
			l->slice_end = l->config->slice_aligned
					       ? (frames[i].ts_ns / slice + 1) * slice
					       : frames[i].ts_ns + slice;
		if (frames[i].ts_ns < l->slice_end)
			continue;
		encode(l, source, frames + from, i - from, own);
		turn(l);
		from = i;
		l->slice_end += (frames[i].ts_ns - l->slice_end) / slice * slice + slice;
	}
	encode(l, source, frames + from, n - from, own);
}

/* --- mirrored traffic ------------------------------------------------------------------- */

static void decap(
	struct lane *l, const struct rd_source *s, struct rd_frame *frames, unsigned int n)
{
	if (l->config->decap == RD_DECAP_OUTER)
		memcpy(l->outer, frames, n * sizeof(*frames));
	rd_decap_run(s->iface.link, frames, n);
}

/* Puts the frames around those that were kept back in place: each begins within its outer one. */
static void recap(struct lane *l, struct rd_frame *frames, unsigned int n)
{
	const struct rd_frame *o = l->outer;

	for (unsigned int i = 0; i < n; i++, o++) {
		while (frames[i].data < o->data || frames[i].data > o->data + o->caplen)
			o++;
		frames[i].data = o->data;
		frames[i].caplen = o->caplen;
		frames[i].len = o->len;
	}
}

/* --- the way of a batch ----------------------------------------------------------------- */

/* -c counts what is kept. Frames of the batch beyond it are as if they had not come. */
static unsigned int limit(
	struct lane *l, unsigned int source, const struct rd_frame *frames, unsigned int n)
{
	uint64_t most = l->config->max_frames, before, left;

	if (!most)
		return n;
	before = atomic_fetch_add_explicit(&l->e->total, n, memory_order_relaxed);
	left = before < most ? most - before : 0;
	if (n < left)
		return n;
	engine_end(l->e, RD_END_COUNT, NULL);
	tally(l, DELIVERED, source, frames + left, n - (unsigned int)left, -1);
	return (unsigned int)left;
}

/* Numbers the interfaces as the file does, from `base` on; returns the bytes on the wire. */
static uint64_t number_ifaces(struct rd_frame *frames, unsigned int n, unsigned int base)
{
	uint64_t bytes = 0;

	for (struct rd_frame *f = frames, *end = frames + n; f != end; f++) {
		bytes += f->len;
		f->iface = (uint16_t)(f->iface + base);
	}
	return bytes;
}

/* The same of a source that has one. */
static uint64_t number_iface(struct rd_frame *frames, unsigned int n, uint16_t iface)
{
	uint64_t bytes = 0;

#pragma GCC unroll 8
	for (struct rd_frame *f = frames, *end = frames + n; f != end; f++) {
		bytes += f->len;
		f->iface = iface;
	}
	return bytes;
}

static void process(struct lane *l, unsigned int source, struct rd_frame *frames, unsigned int n,
	const struct rd_note *own)
{
	const struct rd_capture_config *config = l->config;
	struct rd_source *s = config->sources[source];
	struct rd_filter *filter = config->filters ? config->filters[source] : NULL;
	struct rd_packet packets[RD_BATCH];
	unsigned int base = l->e->base[source], all = n;

	lane_add(&l->bytes, s->n_ifaces > 1 ? number_ifaces(frames, n, base)
					    : number_iface(frames, n, (uint16_t)base));
	if (s->local.link != RD_LINK_UNKNOWN)
		rd_direction_mark(&s->local, frames, n);
	if (config->decap != RD_DECAP_NONE)
		decap(l, s, frames, n);
	tally(l, DELIVERED, source, frames, n, 1);
	if (filter) {
		tally(l, FILTERED, source, frames, all, 1);
		n = rd_filter_run(filter, frames, n, packets);
		tally(l, FILTERED, source, frames, n, -1);
		if (!n && own)
			l->lost[frames[0].iface] += own->dropped;
	}
	if (config->decap == RD_DECAP_OUTER)
		recap(l, frames, n);
	n = limit(l, source, frames, n);
	if (config->cut)
		rd_cut_run(config->cut, s->iface.link, frames, n,
			filter && rd_filter_parses(filter) ? packets : NULL);
	if (config->seen)
		config->seen(config->seen_ctx, s, frames, n);
	if (l->feeds)
		encode_slices(l, source, frames, n, own);
	else
		tally(l, ENCODED, source, frames, n, 1);
}

static bool counted_out(const struct lane *l)
{
	uint64_t most = l->config->max_frames;

	return most && atomic_load_explicit(&l->e->total, memory_order_relaxed) >= most;
}

/* A batch in which frames have notes of their own goes frame by frame. */
static void process_noted(
	struct lane *l, unsigned int source, struct rd_frame *frames, unsigned int n)
{
	struct rd_source *s = l->config->sources[source];

	for (unsigned int i = 0; i < n && !counted_out(l); i++) {
		struct rd_note note;
		bool has = s->ops->note(s, i, &note);

		process(l, source, &frames[i], 1, has ? &note : NULL);
	}
}

void lane_process(struct lane *l, unsigned int source, struct rd_frame *frames, unsigned int n)
{
	if (l->config->sources[source]->batch_has_notes)
		process_noted(l, source, frames, n);
	else
		process(l, source, frames, n, NULL);
}
