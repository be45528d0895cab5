/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of InfiniBand packets: what the device does not deliver is appended, because readers take
 * the last six bytes for ICRC and VCRC. Before that, the first packets of each direction are
 * checked, and it is logged how they end (rdmadump/trailer.h).
 */
#include "verbs_port.h"
#include <string.h>

#define FIRST_PACKETS 64 /* of each direction, whose checksums are computed */

static const char *const of_direction[RD_DIRECTIONS] = {
	[RD_DIR_UNKNOWN] = "packets of unknown direction",
	[RD_DIR_IN] = "received packets",
	[RD_DIR_OUT] = "sent packets",
};

static void report(const struct verbs_port *port, unsigned int direction)
{
	char text[RD_TRAILER_TEXT];
	bool blind = rd_trailers_text(&port->trailer.of[direction], text);

	rd_log(blind ? RD_LOG_WARNING : RD_LOG_INFO, "%s: %s %s", port->name,
		of_direction[direction], text);
}

static uint32_t seen(const struct rd_trailers *t)
{
	return t->packets + t->other;
}

/* With the lock. */
static void count_first(struct verbs_port *port, const struct rd_frame *frames, unsigned int n)
{
	struct trailer_watch *w = &port->trailer;

	for (unsigned int i = 0; i < n; i++) {
		struct rd_trailers *t = &w->of[frames[i].direction];

		if (seen(t) >= FIRST_PACKETS || frames[i].caplen != frames[i].len)
			continue;
		rd_trailers_count(t, frames[i].data, frames[i].len);
		if (seen(t) == FIRST_PACKETS) {
			w->reported |= 1U << frames[i].direction;
			report(port, frames[i].direction);
		}
	}
}

static void watch_first(struct verbs_port *port, const struct rd_local *local,
	struct rd_frame *frames, unsigned int n)
{
	struct trailer_watch *w = &port->trailer;
	const unsigned int both = 1U << RD_DIR_IN | 1U << RD_DIR_OUT;

	if ((w->reported & both) == both)
		return;
	rd_direction_mark(local, frames, n);
	pthread_mutex_lock(&w->lock);
	count_first(port, frames, n);
	pthread_mutex_unlock(&w->lock);
}

void verbs_trailer_end(const struct verbs_port *port)
{
	const struct trailer_watch *w = &port->trailer;
	bool known = seen(&w->of[RD_DIR_IN]) || seen(&w->of[RD_DIR_OUT]);

	/* If one direction is known, packets of unknown direction add no information. */
	for (unsigned int i = known ? RD_DIR_IN : RD_DIR_UNKNOWN; i < RD_DIRECTIONS; i++)
		if (seen(&w->of[i]) && !(w->reported & 1U << i))
			report(port, i);
}

static void complete(const struct verbs_queue *q, struct rd_frame *f)
{
	uint8_t *data = (uint8_t *)(uintptr_t)f->data; /* of the ring, or a copy with more room */
	unsigned int bytes = rd_trailer_missing(data, f->len);

	if (!bytes || f->caplen != f->len || f->len + bytes > q->ring.buffer_size)
		return;
	memset(data + f->len, 0, bytes);
	f->len += bytes;
	f->caplen += bytes;
}

void verbs_trailer_take(struct verbs_queue *q, struct rd_frame *frames, unsigned int n)
{
	watch_first(q->port, &q->src.local, frames, n);
	for (unsigned int i = 0; i < n; i++)
		complete(q, &frames[i]);
}

bool verbs_trailers(const struct rd_source *src, struct rd_trailers of[RD_DIRECTIONS])
{
	struct verbs_port *port = ((const struct verbs_queue *)src)->port;

	if (port->link != RD_LINK_INFINIBAND)
		return false;
	pthread_mutex_lock(&port->trailer.lock);
	memcpy(of, port->trailer.of, sizeof(port->trailer.of));
	pthread_mutex_unlock(&port->trailer.lock);
	return true;
}
