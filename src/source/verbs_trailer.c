/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of InfiniBand packets: what the device does not deliver is appended, because readers take
 * the last six bytes for ICRC and VCRC.
 */
#include "verbs_port.h"
#include <string.h>

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
	trailer_watch_take(&q->port->trailer, &q->src.local, frames, n);
	for (unsigned int i = 0; i < n; i++)
		complete(q, &frames[i]);
}

bool verbs_trailers(const struct rd_source *src, struct rd_trailers of[RD_DIRECTIONS])
{
	struct verbs_port *port = ((const struct verbs_queue *)src)->port;

	if (port->link != RD_LINK_INFINIBAND)
		return false;
	trailer_watch_read(&port->trailer, of);
	return true;
}
