/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The source QPs of connections, learned from REQ and REP of the CM (IBTA volume 1, 12.6.5 and
 * 12.6.7): each message has its sender's QP. The tables have a fixed size, and the oldest entry of
 * a bucket is replaced, so that nothing is allocated while frames are received.
 */
#include "filter_terms.h"
#include <rdmadump/hash.h>
#include <stdlib.h>

#define BUCKETS 2048 /* times WAYS entries: twice the two directions of each of RD_FILTER_PAIRS */
#define WAYS	8
#define OFFERS	1024 /* connections that are being set up */

/* Source and destination in the frame: IP addresses or GIDs, LIDs on InfiniBand. */
struct ends {
	uint64_t src[2], dst[2];
};

struct pair {
	struct ends ends;
	uint32_t dest_qp, src_qp;
	bool used;
};

/* A REQ whose REP was not seen yet. */
struct offer {
	struct ends ends;
	uint32_t id, qp;
	bool used;
};

struct rd_pairs {
	struct pair pairs[BUCKETS][WAYS];
	uint8_t next[BUCKETS];
	struct offer offers[OFFERS];
};

static struct ends ends_of(const struct rd_packet *p)
{
	const uint8_t *src, *dst;
	struct ends e = {0};
	unsigned int length = rd_packet_addresses(p, &src, &dst);

	if (p->kind == RD_KIND_IB) {
		e.dst[0] = rd_be16(p->data + 2);
		e.src[0] = rd_be16(p->data + 6);
	} else if (length) {
		memcpy(e.src, src, length);
		memcpy(e.dst, dst, length);
	}
	return e;
}

static struct ends reversed(const struct ends *e)
{
	return (struct ends){.src = {e->dst[0], e->dst[1]}, .dst = {e->src[0], e->src[1]}};
}

static bool same(const struct ends *a, const struct ends *b)
{
	return a->src[0] == b->src[0] && a->src[1] == b->src[1] && a->dst[0] == b->dst[0] &&
	       a->dst[1] == b->dst[1];
}

static uint32_t hash(const struct ends *e, uint32_t number)
{
	struct rd_hash h = rd_hash_begin();

	rd_hash_add(&h, number);
	rd_hash_add(&h, e->src[0]);
	rd_hash_add(&h, e->src[1]);
	rd_hash_add(&h, e->dst[0]);
	rd_hash_add(&h, e->dst[1]);
	return (uint32_t)rd_hash_end(&h, 5);
}

struct rd_pairs *rd_pairs_new(void)
{
	return calloc(1, sizeof(struct rd_pairs));
}

static void remember(
	struct rd_pairs *pairs, const struct ends *ends, uint32_t dest_qp, uint32_t src_qp)
{
	uint32_t bucket = hash(ends, dest_qp) % BUCKETS;
	struct pair *set = pairs->pairs[bucket], *slot = NULL;

	for (unsigned int i = 0; i < WAYS && !slot; i++)
		if (set[i].used && set[i].dest_qp == dest_qp && same(&set[i].ends, ends))
			slot = &set[i];
	if (!slot)
		slot = &set[pairs->next[bucket]++ % WAYS];
	*slot = (struct pair){.ends = *ends, .dest_qp = dest_qp, .src_qp = src_qp, .used = true};
}

void rd_pairs_learn(struct rd_pairs *pairs, const struct rd_packet *p)
{
	struct ends ends, back;
	struct offer *offer;
	struct rd_mad mad;
	struct rd_cm cm;

	if (!rd_packet_mad(p, &mad) || !rd_mad_cm(&mad, &cm))
		return;
	ends = ends_of(p);
	if (mad.attribute == RD_CM_REQ) {
		offer = &pairs->offers[hash(&ends, cm.local_id) % OFFERS];
		*offer =
			(struct offer){.ends = ends, .id = cm.local_id, .qp = cm.qpn, .used = true};
		return;
	}
	if (mad.attribute != RD_CM_REP)
		return;
	/* The REP has the opposite direction, and the id of the REQ. */
	back = reversed(&ends);
	offer = &pairs->offers[hash(&back, cm.remote_id) % OFFERS];
	if (!offer->used || offer->id != cm.remote_id || !same(&offer->ends, &back))
		return;
	remember(pairs, &back, cm.qpn, offer->qp);
	remember(pairs, &ends, offer->qp, cm.qpn);
}

bool rd_pairs_source(const struct rd_pairs *pairs, const struct rd_packet *p, uint32_t *qp)
{
	struct ends ends = ends_of(p);
	const struct pair *set = pairs->pairs[hash(&ends, p->dest_qp) % BUCKETS];

	for (unsigned int i = 0; i < WAYS; i++) {
		if (set[i].used && set[i].dest_qp == p->dest_qp && same(&set[i].ends, &ends)) {
			*qp = set[i].src_qp;
			return true;
		}
	}
	return false;
}
