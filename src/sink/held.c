/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The chunks of a sink that retains frames. They are kept as the lane filled them and written in
 * place; no frame is copied. The oldest one is returned when the lane needs it, or when its frames
 * are too old for any trigger.
 */
#include "writer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A trigger may be detected this much later than it happened: frames are kept that much longer. */
#define LATE_NS	   2000000000U
#define LANE_SHARE 8 /* one chunk in this many is kept free for the lane */
#define LANE_MIN   3

int held_init(struct held *h, size_t n, struct rd_error *err)
{
	size_t lane = n / LANE_SHARE;

	h->capacity = n;
	h->most = n - (lane > LANE_MIN ? lane : LANE_MIN);
	h->chunk = calloc(n, sizeof(*h->chunk));
	return h->chunk ? 0 : rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for the writer");
}

void held_fini(struct held *h)
{
	free(h->chunk);
}

struct rd_chunk *held_oldest(const struct held *h)
{
	return h->chunk[h->first];
}

const struct rd_chunk *held_newest(const struct held *h)
{
	return h->chunk[(h->first + h->n - 1) % h->capacity];
}

uint64_t held_ns(const struct held *h)
{
	return h->at ? h->ns : held_oldest(h)->first_ns;
}

struct run held_run(const struct rd_sink *s, uint64_t until, uint64_t most)
{
	const struct held *h = &s->retained.held;
	const struct rd_chunk *c = held_oldest(h);

	if (c->last_ns <= until && c->used - h->at <= most)
		return (struct run){
			.len = c->used - h->at, .frames = c->frames - h->taken, .last = c->last_ns};
	return chunk_run(s->encoder, c, h->at, held_ns(h), until, most);
}

void held_advance(struct held *h, const struct run *run)
{
	h->at += run->len;
	h->taken += run->frames;
	h->ns = run->next;
}

/*
 * Counts frames of the oldest chunk, up to this time, that no file got: no trigger needed them, or
 * their file could not be written.
 */
static void pass(struct rd_sink *s, uint64_t until)
{
	const struct windows *w = &s->retained.windows;
	struct held *h = &s->retained.held;

	while (h->at < held_oldest(h)->used && held_ns(h) <= until) {
		uint64_t ns = held_ns(h);
		bool missed = windows_missed(w, ns, SLACK_NS);
		const struct run run = held_run(s, w->n_missed ? ns : until, UINT64_MAX);

		atomic_fetch_add_explicit(
			missed ? &s->unwritten : &s->expired, run.frames, memory_order_relaxed);
		held_advance(h, &run);
	}
}

static uint64_t minus_slack(uint64_t ns)
{
	return ns > SLACK_NS ? ns - SLACK_NS : 0;
}

void held_release(struct rd_sink *s)
{
	struct held *h = &s->retained.held;
	struct rd_chunk *c = held_oldest(h);

	pass(s, UINT64_MAX);
	windows_missed_until(&s->retained.windows, minus_slack(c->first_ns));
	memcpy(s->seen, c->tally, sizeof(s->seen));
	h->first = (h->first + 1) % h->capacity;
	h->n--;
	h->at = h->taken = 0;
	rd_ring_put(&s->feeds[0].free, c);
}

void held_take(struct rd_sink *s)
{
	struct held *h = &s->retained.held;
	struct rd_chunk *c;

	while ((c = rd_ring_take(&s->feeds[0].full)))
		h->chunk[(h->first + h->n++) % h->capacity] = c;
}

void held_expire(struct rd_sink *s)
{
	struct held *h = &s->retained.held;
	uint64_t keep = s->config.retention->pre_ns + LATE_NS;

	for (; h->n > h->most; held_release(s))
		h->missing_ns = held_oldest(h)->last_ns;
	while (h->n && held_oldest(h)->last_ns + keep < held_newest(h)->last_ns)
		held_release(s);
}

void held_skip_older(struct rd_sink *s)
{
	const struct held *h = &s->retained.held;
	uint64_t from = minus_slack(s->retained.window.from);

	while (h->n && held_oldest(h)->last_ns < from)
		held_release(s);
	if (h->n && from)
		pass(s, from - 1);
}
