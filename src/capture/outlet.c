/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The chunks that one lane fills: taken from the feeds of its stripes round robin, handed over with
 * the tally of their frames.
 */
#include "outlet.h"

struct rd_tally outlet_tally(const struct outlet *o, const struct rd_tally *tally,
	unsigned int stripe, unsigned int iface)
{
	struct rd_tally t = {.encoded = o->striped[stripe][iface]};

	if (stripe == 0) {
		t.filtered = tally[iface].filtered;
		t.dropped = tally[iface].dropped;
	}
	t.delivered = t.encoded + t.filtered + t.dropped;
	return t;
}

void outlet_put(struct outlet *o, const struct rd_tally *tally)
{
	uint64_t last_ns = o->chunk->last_ns;

	for (unsigned int i = 0; i < o->n_ifaces; i++) {
		o->striped[o->at][i] += tally[i].encoded - o->put[i];
		o->put[i] = tally[i].encoded;
		o->chunk->tally[i] = outlet_tally(o, tally, o->at, i);
	}
	/* Writers of other stripes may wait for a frame that went into this stripe. */
	for (unsigned int i = 0; o->merged && o->chunk->frames && i < o->n_feeds; i++)
		if (i != o->at)
			rd_feed_watermark(o->feeds[i], last_ns);
	rd_feed_put(o->feeds[o->at], o->chunk);
	o->chunk = NULL;
	o->chunk_since = 0;
}

/*
 * From the next stripe, round robin, that has a free chunk: a slow disk does not delay the others.
 */
static struct rd_chunk *next_chunk(struct outlet *o)
{
	for (unsigned int i = 1; i <= o->n_feeds; i++) {
		unsigned int at = (o->at + i) % o->n_feeds;
		struct rd_chunk *c = o->n_feeds > 1 && rd_feed_ended(o->feeds[at])
					     ? NULL
					     : rd_feed_get(o->feeds[at]);

		if (!c)
			continue;
		o->at = at;
		return c;
	}
	return NULL;
}

bool outlet_get(struct outlet *o)
{
	if (o->chunk)
		return true;
	o->chunk = next_chunk(o);
	if (!o->chunk)
		return false;
	o->chunk->rotate = o->rotate[o->at];
	o->rotate[o->at] = false;
	return true;
}

void outlet_rotate(struct outlet *o, const struct rd_tally *tally)
{
	if (o->chunk)
		outlet_put(o, tally);
	for (unsigned int i = 0; i < o->n_feeds; i++)
		o->rotate[i] = true;
}

void outlet_end(struct outlet *o, const struct rd_tally *tally)
{
	if (o->chunk)
		outlet_put(o, tally);
	for (unsigned int i = 0; i < o->n_feeds; i++)
		rd_feed_watermark(o->feeds[i], UINT64_MAX);
}

bool outlet_arm(struct outlet *o)
{
	bool none = true;

	for (unsigned int i = 0; i < o->n_feeds && none; i++)
		none = rd_feed_arm_for_chunk(o->feeds[i]);
	return none;
}

bool outlet_ended(const struct outlet *o)
{
	for (unsigned int i = 0; i < o->n_feeds; i++)
		if (rd_feed_ended(o->feeds[i]))
			return true;
	return false;
}
