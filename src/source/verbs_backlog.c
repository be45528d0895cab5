/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first frames of a clock that cannot be read. Such a clock is compared with the host's by
 * frames: a frame is polled after its timestamp, so the host's time minus the timestamp is the
 * offset plus the frame's delay. The first frames may have waited for as long as the start of the
 * capture took. So none is delivered before the queue has been polled until it was empty: the
 * newest frame then has the least delay. Where the ring was full, its newest frame is old as well;
 * then the frames are copied, and the ring is posted again to receive a new one.
 */
#include "verbs_backlog.h"
#include "verbs_path.h"
#include "verbs_port.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NEW_NAP_NS   50000 /* between two polls for a new frame */
#define NEW_NAPS_MAX 40

/* The array has room for a batch. */
static bool make_room(struct verbs_backlog *b)
{
	unsigned int capacity = b->capacity ? b->capacity * 2 : 4 * RD_BATCH;
	struct rd_frame *frames;

	if (b->n + RD_BATCH <= b->capacity)
		return true;
	frames = realloc(b->frames, capacity * sizeof(*frames));
	if (!frames)
		return false;
	b->frames = frames;
	b->capacity = capacity;
	return true;
}

/* Nothing is posted meanwhile, so this ends. *polled_at: when the newest frame was polled. */
static void poll_all(struct verbs_queue *q, uint64_t *polled_at)
{
	struct verbs_backlog *b = &q->backlog;
	unsigned int n;

	while (!q->fault.unpollable && make_room(b)) {
		n = q->path->poll(q, b->frames + b->n, RD_BATCH);
		if (!n)
			break;
		*polled_at = rd_clock_now(&q->port->clock.host);
		b->n += n;
	}
}

/* Nearly: entries of frames that were too long count as well. */
static bool ring_was_full(const struct verbs_queue *q)
{
	return q->backlog.n >= q->ring.n - q->ring.n / 8;
}

/* False: out of memory, the frames stay in the ring. */
static bool copy_frames(struct verbs_backlog *b)
{
	size_t bytes = 0;
	uint8_t *at;

	for (unsigned int i = 0; i < b->n; i++)
		bytes += b->frames[i].caplen + RD_TRAILER_MAX;
	at = b->copy = malloc(bytes);
	if (!at)
		return false;
	for (unsigned int i = 0; i < b->n; i++) {
		struct rd_frame *f = &b->frames[i];

		memcpy(at, f->data, f->caplen);
		f->data = at;
		at += f->caplen + RD_TRAILER_MAX;
	}
	return true;
}

static void poll_new(struct verbs_queue *q, uint64_t *polled_at)
{
	const struct timespec nap = {.tv_nsec = NEW_NAP_NS};
	unsigned int before = q->backlog.n;

	for (unsigned int i = 0; i < NEW_NAPS_MAX && q->backlog.n == before; i++) {
		nanosleep(&nap, NULL);
		poll_all(q, polled_at);
	}
}

static void collect(struct verbs_queue *q)
{
	struct verbs_backlog *b = &q->backlog;
	uint64_t polled_at = 0;
	unsigned int newest;

	poll_all(q, &polled_at);
	if (b->n && ring_was_full(q) && copy_frames(b)) {
		if (q->path->post(q) && !q->fault.text)
			q->fault.text = "receives cannot be posted";
		poll_new(q, &polled_at);
	}
	newest = b->n < RD_BATCH ? b->n : RD_BATCH;
	if (newest)
		verbs_clock_compare(
			&q->port->clock, &q->stamps, b->frames + b->n - newest, newest, polled_at);
	else
		verbs_backlog_free(b);
}

unsigned int verbs_backlog_receive(struct verbs_queue *q, struct rd_frame *frames, unsigned int max)
{
	struct verbs_backlog *b = &q->backlog;
	unsigned int n;

	if (!b->frames)
		collect(q);
	n = b->n - b->delivered < max ? b->n - b->delivered : max;
	if (n)
		memcpy(frames, b->frames + b->delivered, n * sizeof(*frames));
	b->delivered += n;
	return n;
}

bool verbs_backlog_release(struct verbs_backlog *b)
{
	if (b->delivered < b->n)
		return false;
	verbs_backlog_free(b);
	return true;
}

void verbs_backlog_free(struct verbs_backlog *b)
{
	free(b->frames);
	free(b->copy);
	*b = (struct verbs_backlog){0};
}
