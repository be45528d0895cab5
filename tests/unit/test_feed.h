/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Feeds in memory for tests of the code on both sides: filled by hand, and read back. */
#pragma once

#include "sink/feed.h"
#include "test.h"
#include <poll.h>

#define FRAMES_MAX   200000
#define FRAME_BYTES  64
#define RECORD_BYTES 96 /* what the format makes of it */
#define N_IFACES     8

static struct rd_section section;
static struct rd_iface ifaces[N_IFACES];

static inline void encoder_make(struct rd_encoder *e, const char *format, unsigned int n)
{
	for (unsigned int i = 0; i < N_IFACES; i++)
		ifaces[i] = (struct rd_iface){
			.name = "test", .link = RD_LINK_ETHERNET, .max_frame = FRAME_BYTES};
	if (rd_encoder_init(e, format, "test", &section, ifaces, n, &failure) < 0)
		fail_msg("%s", failure.text);
}

static inline void feed_make(
	struct rd_feed *f, const struct sink_state *state, size_t n, size_t capacity)
{
	memset(f, 0, sizeof(*f));
	if (feed_init(f, state, n, capacity, -1, &failure) < 0)
		fail_msg("%s", failure.text);
}

static inline bool fd_readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

/* The oldest item, as the writer takes it, without a limit: see test_ring.c. */
static inline void *ring_wait(struct rd_ring *ring)
{
	struct pollfd pfd = {.fd = ring->fd, .events = POLLIN};
	void *item;

	while (!(item = rd_ring_take(ring)))
		if (rd_ring_about_to_sleep(ring)) {
			poll(&pfd, 1, -1);
			rd_ring_awake(ring);
		}
	return item;
}

/* A record behind the chunk's last; false: no room. */
static inline bool chunk_add(
	const struct rd_encoder *e, struct rd_chunk *c, uint64_t ns, uint16_t iface)
{
	static const uint8_t data[FRAME_BYTES];
	const struct rd_frame frame = {.data = data,
		.caplen = sizeof(data),
		.len = sizeof(data),
		.ts_ns = ns,
		.iface = iface};
	size_t used;

	if (!e->format->frames(e, &frame, 1, c->data + c->used, c->capacity - c->used, &used))
		return false;
	if (!c->frames)
		c->first_ns = ns;
	c->last_ns = ns;
	c->used += used;
	c->frames++;
	return true;
}

/* What was written, in order. */
struct seen {
	size_t n;
	uint64_t ns[FRAMES_MAX];
	uint8_t iface[FRAMES_MAX];
};

static inline void seen_add(struct seen *s, const struct rd_encoder *e, const struct rd_chunk *c)
{
	size_t before = s->n, len;

	for (size_t at = 0; at < c->used; at += len) {
		len = e->format->record_len(c->data + at, c->used - at);
		assert_true(len > 0 && s->n < FRAMES_MAX);
		s->ns[s->n] = e->format->record_ns(c->data + at);
		s->iface[s->n++] = e->format->record_iface
					   ? (uint8_t)e->format->record_iface(c->data + at)
					   : 0;
	}
	same(s->n - before, c->frames, s->ns[before], c->first_ns, s->ns[s->n - 1], c->last_ns);
}
