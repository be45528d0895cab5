/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Merges the chunks of several feeds by the timestamps of their frames. The records of one feed
 * keep their order: each is ordered by the newest timestamp up to its own. Records of several feeds
 * are copied into one buffer, which costs less than a vector of them; a long run of one feed is
 * written from its chunk.
 */
#include "merge.h"
#include <errno.h>
#include <rdmadump/array.h>
#include <stdlib.h>
#include <string.h>

#define LONG_RUN 32768 /* bytes; longer runs are not copied */

int merge_init(struct merge *m, const struct rd_encoder *encoder, struct rd_feed *feeds,
	unsigned int n, size_t size, struct rd_error *err)
{
	m->encoder = encoder;
	m->n = n;
	m->capacity = size;
	m->head = calloc(n, sizeof(*m->head));
	m->stage = malloc(size);
	if (!m->head || !m->stage)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for the writer");
	for (unsigned int i = 0; i < n; i++)
		m->head[i].feed = &feeds[i];
	return 0;
}

void merge_fini(struct merge *m)
{
	free(m->head);
	free(m->stage);
}

/* --- heads ------------------------------------------------------------------------------ */

/* At the start of a chunk: counts what was filtered and dropped before its frames. */
static void account(struct merge *m, struct merge_head *h)
{
	for (unsigned int i = 0; i < RD_IFACES_MAX; i++) {
		const struct rd_tally *now = &h->chunk->tally[i], *then = &h->seen[i];

		m->out.tally[i].filtered += now->filtered - then->filtered;
		m->out.tally[i].dropped += now->dropped - then->dropped;
	}
	memcpy(h->seen, h->chunk->tally, sizeof(h->seen));
}

/* Reads the watermark first: all chunks that were put before it was set are then in the ring. */
static void refill(struct merge *m, struct merge_head *h, bool all)
{
	uint64_t watermark =
		all ? UINT64_MAX : atomic_load_explicit(&h->feed->watermark, memory_order_seq_cst);

	h->chunk = rd_ring_take(&h->feed->full);
	h->at = 0;
	h->ns = watermark;
	if (!h->chunk)
		return;
	h->ns = chunk_order_ns(h->chunk, m->encoder->format->record_ns(h->chunk->data), h->newest);
}

static void return_chunk(struct merge_head *h)
{
	rd_ring_put(&h->feed->free, h->chunk);
	h->chunk = NULL;
	h->ns = 0;
}

/* The head with the oldest record. *stop: no other feed has a record older than this timestamp. */
static struct merge_head *oldest(struct merge *m, bool all, uint64_t *stop)
{
	struct merge_head *first = NULL;

	*stop = UINT64_MAX;
	for (unsigned int i = 0; i < m->n; i++) {
		struct merge_head *h = &m->head[i];

		if (!h->chunk)
			refill(m, h, all);
		if (h->chunk && (!first || h->ns < first->ns)) {
			if (first && first->ns < *stop)
				*stop = first->ns;
			first = h;
		} else if (h->ns < *stop) {
			*stop = h->ns;
		}
	}
	return first;
}

/* --- rotations -------------------------------------------------------------------------- */

static uint64_t next_rotation(const struct merge *m)
{
	unsigned int taken = atomic_load_explicit(&m->rotations_taken, memory_order_relaxed);

	if (taken == atomic_load_explicit(&m->rotations_put, memory_order_acquire))
		return UINT64_MAX;
	return m->rotation[taken % MERGE_ROTATIONS];
}

void merge_rotate(struct merge *m, uint64_t ns)
{
	unsigned int put = atomic_load_explicit(&m->rotations_put, memory_order_relaxed);

	if (put - atomic_load_explicit(&m->rotations_taken, memory_order_relaxed) ==
		MERGE_ROTATIONS)
		return;
	m->rotation[put % MERGE_ROTATIONS] = ns;
	atomic_store_explicit(&m->rotations_put, put + 1, memory_order_release);
}

/* --- pieces ----------------------------------------------------------------------------- */

static void count(struct merge *m, const uint8_t *p, size_t len)
{
	const struct rd_encoder *e = m->encoder;

	for (size_t at = 0, record; at < len; at += record) {
		record = e->format->record_len(p + at, len - at);
		m->out.tally[e->format->record_iface(p + at) % RD_IFACES_MAX].encoded++;
	}
}

static void take(struct merge *m, struct merge_head *h, const struct run *r)
{
	struct rd_chunk *out = &m->out;
	const uint8_t *p = h->chunk->data + h->at;

	if (h->at == 0)
		account(m, h);
	if (h->ns < m->newest)
		atomic_fetch_add_explicit(&m->late, 1, memory_order_relaxed);
	if (!out->frames)
		out->first_ns = h->ns;
	if (m->encoder->n_ifaces < 2 || !m->encoder->format->record_iface)
		out->tally[0].encoded += r->frames;
	else
		count(m, p, r->len);
	out->last_ns = m->newest = h->newest = r->last;
	out->marked |= h->chunk->marked;
	out->used += r->len;
	out->frames += r->frames;
	h->at += r->len;
	h->ns = r->next;
}

/* Returns a long run as it is, without a copy. */
static const struct rd_chunk *lend_run(struct merge *m, struct merge_head *h, const struct run *r)
{
	m->out.data = h->chunk->data + h->at;
	take(m, h, r);
	m->lent = h;
	return &m->out;
}

static const struct rd_chunk *gather(struct merge *m, bool all)
{
	struct rd_chunk *out = &m->out;
	struct merge_head *h;
	uint64_t stop;

	while ((h = oldest(m, all, &stop)) && h->ns <= stop) {
		uint64_t rotation = next_rotation(m);
		struct run r;

		if (h->ns >= rotation) {
			if (out->frames)
				break;
			out->rotate = true;
			atomic_fetch_add_explicit(&m->rotations_taken, 1, memory_order_release);
			continue;
		}
		r = chunk_run(m->encoder, h->chunk, h->at, h->ns,
			stop < rotation ? stop : rotation - 1, UINT64_MAX);
		if (r.len >= LONG_RUN) {
			if (out->frames)
				break;
			return lend_run(m, h, &r);
		}
		if (r.len > m->capacity - out->used)
			break;
		memcpy(out->data + out->used, h->chunk->data + h->at, r.len);
		take(m, h, &r);
		if (h->at == h->chunk->used)
			return_chunk(h);
	}
	return out->frames ? out : NULL;
}

const struct rd_chunk *merge_next(struct merge *m, bool all)
{
	if (m->lent && m->lent->at == m->lent->chunk->used)
		return_chunk(m->lent);
	m->lent = NULL;
	m->out.data = m->stage;
	m->out.capacity = m->capacity;
	m->out.used = 0;
	m->out.frames = 0;
	m->out.rotate = m->out.marked = false;
	return gather(m, all);
}

enum merge_state merge_state(struct merge *m)
{
	uint64_t stop;
	struct merge_head *h = oldest(m, false, &stop);

	return !h ? MERGE_EMPTY : h->ns <= stop ? MERGE_READY : MERGE_WAITING;
}

void merge_request(struct merge *m)
{
	uint64_t stop;
	struct merge_head *h = oldest(m, false, &stop);

	for (unsigned int i = 0; h && i < m->n; i++)
		if (!m->head[i].chunk && m->head[i].ns < h->ns)
			feed_request(m->head[i].feed, h->ns);
}

bool merge_under_pressure(const struct merge *m)
{
	return RD_ANY(h, m->head, m->n, rd_ring_used(&h->feed->full) * 4 > h->feed->n_chunks);
}
