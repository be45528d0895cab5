/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The path of a batch: direction, decapsulation, filter, cut, chunk. Every frame is accounted for.
 */
#include "lane.h"
#include <rdmadump/array.h>

/* --- accounting ------------------------------------------------------------------------- */

/* One thread writes, any thread reads. */
static void counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

enum tally_field {
	ENCODED = offsetof(struct rd_tally, encoded),
	FILTERED = offsetof(struct rd_tally, filtered),
	DROPPED = offsetof(struct rd_tally, dropped),
};

static void tally_add(struct rd_tally *t, enum tally_field field, uint64_t n)
{
	counter_add((uint64_t *)(void *)((char *)t + field), n);
}

/* Counts each frame in its interface's tally. */
static void tally(struct pipe *p, enum tally_field field, const struct pipe_batch *b,
	const struct rd_frame *frames, unsigned int n)
{
	if (b->s->n_ifaces <= 1) {
		tally_add(&p->tally[b->base], field, n);
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		tally_add(&p->tally[frames[i].iface], field, 1);
}

/* --- the order of timestamps -------------------------------------------------------------- */

static bool is_marked(const struct rd_frame *f)
{
	return f->flags & (RD_FRAME_BAD_TIME | RD_FRAME_NO_TIME);
}

/* The time of a frame for ordering; `before` is the newest earlier one: it never goes back. */
static uint64_t order_ns(const struct pipe *p, const struct rd_frame *f, uint64_t before)
{
	if (is_marked(f))
		return before ? before : p->start_ns;
	return f->ts_ns > before ? f->ts_ns : before;
}

/* The numbers of sent, received and other frames, in 16 bits each. */
static uint64_t directions(const struct rd_frame *frames, unsigned int n)
{
	static const uint64_t one[RD_DIRECTIONS] = {1, UINT64_C(1) << 16, UINT64_C(1) << 32};
	uint64_t counts = 0;

#pragma GCC unroll 8
	for (const struct rd_frame *f = frames, *end = frames + n; f != end; f++)
		counts += one[f->direction];
	return counts;
}

/* Marks the frames that are older than an earlier one. */
static void mark_order(
	struct pipe *p, const struct rd_source *s, struct rd_frame *frames, unsigned int n)
{
	if (!s->batch_disordered) {
		p->received_ns = frames[n - 1].ts_ns;
		return;
	}
	for (struct rd_frame *f = frames; f != frames + n; f++) {
		if (is_marked(f))
			continue;
		if (f->ts_ns < p->received_ns)
			f->flags |= RD_FRAME_DISORDERED;
		else
			p->received_ns = f->ts_ns;
	}
}

static void account(
	struct pipe *p, const struct rd_source *s, const struct rd_frame *frames, unsigned int n)
{
	struct rd_frame_account *a = &p->account;
	uint64_t counts = directions(frames, n);

	for (unsigned int i = 0; i < RD_DIRECTIONS; i++)
		a->direction[i] += counts >> (i * 16) & 0xffff;
	for (unsigned int i = 0; s->batch_disordered && i < n; i++) {
		a->bad_time += !!(frames[i].flags & RD_FRAME_BAD_TIME);
		a->no_time += !!(frames[i].flags & RD_FRAME_NO_TIME);
		a->disordered[frames[i].direction] += !!(frames[i].flags & RD_FRAME_DISORDERED);
	}
}

/* --- chunks ------------------------------------------------------------------------------ */

static bool get_chunk(struct pipe *p)
{
	p->chunk = rd_feed_get(p->feed);
	if (!p->chunk)
		return false;
	p->chunk->rotate = p->begins_file;
	p->begins_file = false;
	return true;
}

void pipe_put(struct pipe *p)
{
	memcpy(p->chunk->tally, p->tally, p->config->encoder->n_ifaces * sizeof(p->tally[0]));
	rd_feed_put(p->feed, p->chunk);
	p->chunk = NULL;
	p->chunk_since = 0;
}

static void begin_file(struct pipe *p)
{
	if (p->chunk)
		pipe_put(p);
	p->begins_file = true;
}

void pipe_end(struct pipe *p)
{
	if (p->chunk)
		pipe_put(p);
	if (p->feed)
		rd_feed_watermark(p->feed, UINT64_MAX);
}

/* --- encoding --------------------------------------------------------------------------- */

/* The first n of the kept frames became `bytes` in the chunk. */
static void count_encoded(struct pipe *p, const struct pipe_batch *b, unsigned int n, size_t bytes)
{
	struct rd_chunk *c = p->chunk;
	uint64_t first, last;

	if (!n)
		return;
	first = b->kept[0].ts_ns;
	last = b->kept[n - 1].ts_ns;
	if (__builtin_expect(b->s->batch_disordered, 0)) {
		first = order_ns(p, b->kept, p->newest_ns);
		last = first;
		for (unsigned int i = 1; i < n; i++)
			last = order_ns(p, &b->kept[i], last);
		c->marked |= RD_ANY(f, b->kept, n, is_marked(f));
	}
	if (!c->frames)
		c->first_ns = first;
	c->last_ns = last;
	__atomic_store_n(&p->newest_ns, c->last_ns, __ATOMIC_RELAXED);
	c->used += bytes;
	c->frames += n;
	tally(p, ENCODED, b, b->kept, n);
}

/* Appends one more comment on the same frame. */
static void join_comment(char *text, size_t size, const char *more)
{
	size_t used = strlen(text);

	if (more && *more)
		snprintf(text + used, size - used, "%s%s", used ? "; " : "", more);
}

/* The first frame after an event is stored with the note about it, beside notes of its own. */
static unsigned int encode_noted(struct pipe *p, const struct pipe_batch *b)
{
	const struct rd_encoder *enc = p->config->encoder;
	const struct rd_frame *frame = b->kept;
	struct rd_source *s = b->s;
	char text[RD_NOTE_MAX + 8] = ""; /* the format cuts it between characters */
	struct rd_note note = {
		.dropped = p->lost[frame->iface] + (b->has_note ? b->note.dropped : 0)};
	struct rd_chunk *c = p->chunk;
	size_t used;

	join_comment(text, sizeof(text), b->has_note ? b->note.comment : NULL);
	join_comment(text, sizeof(text), s->note);
	if (b->commented & 1)
		join_comment(
			text, sizeof(text), p->config->comment(p->config->seen_ctx, b->comment));
	note.comment = *text ? text : NULL;
	used = enc->format->noted(enc, frame, &note, c->data + c->used, c->capacity - c->used);
	if (!used)
		return 0;
	count_encoded(p, b, 1, used);
	p->lost[frame->iface] = 0;
	s->note[0] = '\0';
	return 1;
}

static unsigned int encode_plain(struct pipe *p, const struct pipe_batch *b, unsigned int n)
{
	const struct rd_encoder *enc = p->config->encoder;
	struct rd_chunk *c = p->chunk;
	size_t used;
	unsigned int done = enc->format->frames(
		enc, b->kept, n, c->data + c->used, c->capacity - c->used, &used);

	count_encoded(p, b, done, used);
	return done;
}

/* The number of the next frames of the slice that get no comment. */
static unsigned int uncommented(const struct pipe_batch *b)
{
	unsigned int n = b->n_slice;

	if (__builtin_expect(b->commented != 0, 0) &&
		(unsigned int)__builtin_ctzll(b->commented) < n)
		n = (unsigned int)__builtin_ctzll(b->commented);
	return n;
}

static void advance(struct pipe_batch *b, unsigned int n)
{
	if (__builtin_expect(b->commented != 0, 0)) {
		b->commented = n < 64 ? b->commented >> n : 0;
		b->comment += n;
	}
	b->kept += n;
	b->n_kept -= n;
	b->n_slice -= n;
}

/* Encodes the frames that belong to the current file. */
static enum pipe_status encode_slice(struct pipe *p, struct pipe_batch *b)
{
	const struct rd_source *s = b->s;

	while (b->n_slice) {
		bool noted =
			b->has_note || p->lost[b->kept->iface] || s->note[0] || b->commented & 1;
		unsigned int want = noted ? 1 : uncommented(b), done;

		if (!p->chunk && !get_chunk(p))
			return PIPE_NEED_CHUNK;
		done = noted ? encode_noted(p, b) : encode_plain(p, b, want);
		if (done < want)
			pipe_put(p);
		advance(b, done);
	}
	return PIPE_OK;
}

void pipe_drop(struct pipe *p, struct pipe_batch *b)
{
	tally(p, DROPPED, b, b->kept, b->n_slice);
	for (unsigned int i = 0; i < b->n_slice; i++)
		p->lost[b->kept[i].iface]++;
	if (b->has_note)
		p->lost[b->kept->iface] += b->note.dropped;
	/* The next frame gets the first comment instead. */
	if (b->commented && !b->s->note[0] && uncommented(b) < b->n_slice)
		snprintf(b->s->note, sizeof(b->s->note), "before this frame, dropped: %s",
			p->config->comment(p->config->seen_ctx, b->comment + uncommented(b)));
	advance(b, b->n_slice);
}

/* --- time slices ------------------------------------------------------------------------ */

/* The time that decides in which slice a frame is. */
static uint64_t slice_ns(const struct pipe *p, const struct pipe_batch *b, const struct rd_frame *f)
{
	return b->s->batch_disordered ? order_ns(p, f, p->newest_ns) : f->ts_ns;
}

/* The number of kept frames in the current time slice. */
static unsigned int frames_in_slice(struct pipe *p, const struct pipe_batch *b)
{
	uint64_t slice = p->config->slice_ns, first = slice_ns(p, b, b->kept);
	unsigned int n = 0;

	if (!p->slice_end)
		p->slice_end =
			p->config->slice_aligned ? (first / slice + 1) * slice : first + slice;
	while (n < b->n_kept && slice_ns(p, b, &b->kept[n]) < p->slice_end)
		n++;
	return n;
}

static void next_slice(struct pipe *p, uint64_t ns)
{
	uint64_t slice = p->config->slice_ns;

	begin_file(p);
	p->slice_end += (ns - p->slice_end) / slice * slice + slice;
}

static enum pipe_status encode(struct pipe *p, struct pipe_batch *b)
{
	while (b->n_kept) {
		if (!b->n_slice)
			b->n_slice = p->config->slice_ns ? frames_in_slice(p, b) : b->n_kept;
		if (!b->n_slice)
			next_slice(p, slice_ns(p, b, b->kept));
		else if (encode_slice(p, b) == PIPE_NEED_CHUNK)
			return PIPE_NEED_CHUNK;
	}
	return PIPE_OK;
}

/* --- mirrored traffic ------------------------------------------------------------------- */

static void decap(
	struct pipe *p, const struct rd_source *s, struct rd_frame *frames, unsigned int n)
{
	if (p->config->max_frames)
		memcpy(p->outer, frames, n * sizeof(*frames));
	rd_decap_run(s->iface.link, frames, n);
}

/* Replaces frames by their outer frames: each lies within its outer frame. */
static void recap(struct pipe *p, struct rd_frame *frames, unsigned int n)
{
	const struct rd_frame *o = p->outer;

	for (unsigned int i = 0; i < n; i++, o++) {
		while (frames[i].data < o->data || frames[i].data > o->data + o->caplen)
			o++;
		frames[i].data = o->data;
		frames[i].caplen = o->caplen;
		frames[i].len = o->len;
	}
}

/* --- a batch ---------------------------------------------------------------------------- */

/* Applies max_frames, which counts kept frames, but not those of the batch after the last one. */
static unsigned int limit(struct pipe *p, struct rd_frame *frames, unsigned int n)
{
	uint64_t most = p->config->max_frames, before, left, bytes = 0;

	if (!most)
		return n;
	before = atomic_fetch_add_explicit(p->kept, n, memory_order_relaxed);
	left = before < most ? most - before : 0;
	if (n < left)
		return n;
	p->limit_reached = true;
	if (p->config->decap)
		recap(p, frames + left, n - (unsigned int)left); /* they were counted so */
	for (const struct rd_frame *f = frames + left; f != frames + n; f++)
		bytes += f->len;
	counter_add(&p->bytes, -bytes);
	return (unsigned int)left;
}

/* Adds `base` to the frames' interface numbers; returns the bytes on the wire. */
static uint64_t number_ifaces(struct rd_frame *frames, unsigned int n, unsigned int base)
{
	uint64_t bytes = 0;

	for (struct rd_frame *f = frames, *end = frames + n; f != end; f++) {
		bytes += f->len;
		f->iface = (uint16_t)(f->iface + base);
	}
	return bytes;
}

/* The same for a source with one interface. */
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

/* Filter and cut: sets the kept frames of the next n, which may have a note. */
static void take(struct pipe *p, struct pipe_batch *b, unsigned int n)
{
	const struct rd_capture_config *config = p->config;
	struct rd_source *s = b->s;
	struct rd_filter *filter = config->filters ? config->filters[b->source] : NULL;
	struct rd_frame *frames = b->frames + b->taken;
	struct rd_packet packets[RD_BATCH];
	unsigned int all = n;

	b->taken += n;
	counter_add(&p->bytes, s->n_ifaces > 1 ? number_ifaces(frames, n, b->base)
					       : number_iface(frames, n, (uint16_t)b->base));
	if (s->local.link != RD_LINK_UNKNOWN)
		rd_direction_mark(&s->local, frames, n);
	mark_order(p, s, frames, n);
	if (config->decap)
		decap(p, s, frames, n);
	if (filter) {
		n = rd_filter_run(filter, frames, all, packets);
		tally(p, FILTERED, b, frames + n, all - n);
		account(p, s, frames + n, all - n);
		if (!n && b->has_note)
			p->lost[frames[0].iface] += b->note.dropped;
	}
	n = limit(p, frames, n);
	account(p, s, frames, n);
	if (config->cut)
		rd_cut_run(config->cut, s->iface.link, frames, n,
			filter && rd_filter_parses(filter) ? packets : NULL);
	if (config->seen)
		config->seen(config->seen_ctx, s, frames, n);
	if (config->commented) {
		b->commented = config->commented(config->seen_ctx, s, frames, n);
		b->comment = 0;
	}
	b->kept = frames;
	b->n_kept = n;
	if (!p->feed) {
		tally(p, ENCODED, b, frames, n);
		b->n_kept = 0;
	}
	if (__builtin_expect(atomic_load_explicit(&p->rotate, memory_order_relaxed), 0) && n) {
		p->rotate = false;
		begin_file(p);
	}
}

static bool counted_out(const struct pipe *p)
{
	uint64_t most = p->config->max_frames;

	return most && atomic_load_explicit(p->kept, memory_order_relaxed) >= most;
}

/* Takes the next part of a batch; frames with notes one by one. False: nothing is left. */
static bool take_next(struct pipe *p, struct pipe_batch *b)
{
	struct rd_source *s = b->s;

	if (b->taken == b->n)
		return false;
	if (!s->batch_has_notes) {
		take(p, b, b->n);
		return true;
	}
	if (counted_out(p))
		return false;
	b->has_note = s->ops->note(s, b->taken, &b->note);
	take(p, b, 1);
	return true;
}

enum pipe_status pipe_run(struct pipe *p, struct pipe_batch *b)
{
	do {
		if (b->n_kept && encode(p, b) == PIPE_NEED_CHUNK)
			return PIPE_NEED_CHUNK;
	} while (take_next(p, b));
	return PIPE_OK;
}
