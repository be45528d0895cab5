/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Triggers that are fired by frames: kinds of packets, and retransmitted requests. */
#include "trigger.h"
#include <rdmadump/array.h>
#include <rdmadump/hash.h>
#include <stdio.h>
#include <stdlib.h>

#define PSN_MASK   0xffffffU
#define PSN_HALF   0x800000U
#define PSN_BEFORE 0x10000U /* further back than this, the QP was connected again */
#define ROUNDS_MAX 7	    /* retry_cnt has 3 bits: IBTA volume 1, 9.9.2.1.1 */
#define BUCKET_NS  100000000U

int wire_init(struct wire *w, struct trigger *triggers, unsigned int n)
{
	*w = (struct wire){.triggers = calloc(n ? n : 1, sizeof(*w->triggers)),
		.rates = calloc(n ? n : 1, sizeof(*w->rates))};
	if (!w->triggers || !w->rates)
		return -1;
	for (unsigned int i = 0; i < n; i++) {
		if (triggers[i].source != TRIGGER_WIRE)
			continue;
		w->triggers[w->n++] = &triggers[i];
		w->wanted |= 1U << triggers[i].name->wire;
	}
	if (!(w->wanted & (1U << WIRE_RETRANSMISSION | 1U << WIRE_GAVE_UP)))
		return 0;
	w->flows = calloc(WIRE_FLOWS, sizeof(*w->flows));
	return w->flows ? 0 : -1;
}

void wire_fini(struct wire *w)
{
	free(w->triggers);
	free(w->rates);
	free(w->flows);
	*w = (struct wire){0};
}

/* --- retransmitted requests ---------------------------------------------------------------- */

static uint64_t word(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* By addresses, destination QP and direction: a port may see a packet as sent and as received. */
static uint64_t flow_key(const struct rd_packet *p, const struct rd_frame *frame)
{
	struct rd_hash h = rd_hash_begin();
	const uint8_t *src = NULL, *dst = NULL;
	unsigned int len = rd_packet_addresses(p, &src, &dst), words = 1;

	rd_hash_add(&h, (uint64_t)frame->direction << 32 | p->dest_qp);
	/* Both addresses follow each other. */
	for (unsigned int at = 0; at < len * 2; at += 8, words++)
		rd_hash_add(&h, word(src + at));
	return rd_hash_end(&h, words) | 1;
}

/*
 * The place of a flow: its own, else the one of its set that was idle longest. Unused ones are all
 * zeros, and so the first.
 */
static struct wire_flow *place_of(struct wire *w, uint64_t key)
{
	struct wire_flow *set = &w->flows[(key >> 16) & (WIRE_FLOWS - WIRE_WAYS)], *place = set;

	for (unsigned int i = 0; i < WIRE_WAYS; i++) {
		if (set[i].key == key)
			return &set[i];
		if (set[i].used < place->used)
			place = &set[i];
	}
	return place;
}

static void begin_flow(struct wire_flow *f, uint32_t psn)
{
	f->newest = f->last = psn;
	f->first = UINT32_MAX;
	f->rounds = 0;
}

static bool is_request(const struct rd_packet *p)
{
	enum rd_transport t = rd_packet_transport(p);

	return (t == RD_RC || t == RD_XRC) && !(p->op->bits & (RD_OP_RESPONSE | RD_OP_ACK));
}

/* Bits of enum wire_kind. */
static uint32_t follow_request(
	struct wire *w, const struct rd_packet *p, const struct rd_frame *frame)
{
	uint64_t key = flow_key(p, frame);
	struct wire_flow *f = place_of(w, key);
	uint32_t back, last;

	f->used = ++w->requests;
	if (f->key != key) {
		w->forgotten += f->key != 0;
		f->key = key;
		begin_flow(f, p->psn);
		return 0;
	}
	back = (f->newest - p->psn) & PSN_MASK;
	if (back >= PSN_BEFORE && back <= PSN_HALF) {
		begin_flow(f, p->psn);
		return 0;
	}
	last = f->last;
	f->last = p->psn;
	if (back > PSN_HALF) {
		f->newest = p->psn;
		return 0;
	}
	/* A retransmission round begins where the PSN does not increase. */
	if (((p->psn - last - 1) & PSN_MASK) < PSN_HALF)
		return 1U << WIRE_RETRANSMISSION;
	f->rounds = f->first == p->psn ? f->rounds + 1 : 1;
	f->first = p->psn;
	return 1U << WIRE_RETRANSMISSION | (f->rounds == ROUNDS_MAX ? 1U << WIRE_GAVE_UP : 0);
}

/* --- what one packet shows ------------------------------------------------------------------ */

static uint32_t judge_ack(const struct rd_packet *p)
{
	struct rd_aeth aeth;

	if (!rd_packet_aeth(p, &aeth))
		return 0;
	if (aeth.kind == RD_AETH_RNR)
		return 1U << WIRE_RNR;
	if (aeth.kind != RD_AETH_NAK)
		return 0;
	/* Sequence errors are repaired by retransmission, all others end the QP: 9.9.2.1. */
	return 1U << WIRE_NAK | (aeth.value ? 1U << WIRE_QP_ERROR : 0);
}

static bool is_reject(const struct rd_packet *p)
{
	struct rd_mad mad;

	return rd_packet_is_mad(p) && rd_packet_mad(p, &mad) && mad.class == RD_MAD_CM &&
	       mad.attribute == RD_CM_REJ;
}

static bool is_corrupt(const struct rd_packet *p, const struct rd_frame *frame)
{
	uint32_t computed, stored;

	return frame->flags & RD_FRAME_CRC_ERROR ||
	       (rd_packet_icrc(p, &computed, &stored) && computed != stored);
}

/* Bits of enum wire_kind. */
static uint32_t judge(struct wire *w, const struct rd_packet *p, const struct rd_frame *frame)
{
	uint32_t wanted = w->wanted, shown = 0;

	if (p->op->bits & RD_OP_ACK)
		shown = judge_ack(p);
	else if (p->op->bits & RD_OP_CNP)
		shown = 1U << WIRE_CNP;
	else if (w->flows && is_request(p))
		shown = follow_request(w, p, frame);
	if (wanted & 1U << WIRE_CM_REJECT && is_reject(p))
		shown |= 1U << WIRE_CM_REJECT;
	if (wanted & 1U << WIRE_ICRC_ERROR && is_corrupt(p, frame))
		shown |= 1U << WIRE_ICRC_ERROR;
	return shown & wanted;
}

/* --- triggers --------------------------------------------------------------------------------- */

static bool is_host(const struct trigger *t, const struct rd_packet *p)
{
	const uint8_t *src, *dst;

	if (rd_packet_addresses(p, &src, &dst) != t->host_len)
		return false;
	return !memcmp(src, t->host, t->host_len) || !memcmp(dst, t->host, t->host_len);
}

static bool matches(const struct trigger *t, const struct rd_packet *p)
{
	struct rd_aeth aeth;

	if (t->qp != TRIGGER_QP_ANY && t->qp != p->dest_qp)
		return false;
	if (t->host_len && !is_host(t, p))
		return false;
	return t->nak == TRIGGER_NAK_ANY || (rd_packet_aeth(p, &aeth) && aeth.value == t->nak);
}

static uint64_t sum_of(const struct wire_rate *r)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < WIRE_BUCKETS; i++)
		sum += r->count[i];
	return sum;
}

/* Counts an event at this time; true if it exceeds the limit for the first time within a second. */
static bool passes(struct wire_rate *r, uint64_t most, uint64_t ns)
{
	uint64_t bucket = ns / BUCKET_NS;
	bool fires;

	for (uint64_t i = r->bucket + 1; i <= bucket && i <= r->bucket + WIRE_BUCKETS; i++)
		r->count[i % WIRE_BUCKETS] = 0;
	r->bucket = RD_MAX(r->bucket, bucket);
	r->count[r->bucket % WIRE_BUCKETS]++;
	if (sum_of(r) <= most)
		return false;
	fires = !r->above || r->bucket - r->above > WIRE_BUCKETS;
	r->above = r->bucket;
	return fires;
}

struct trigger *wire_frame(struct wire *w, enum rd_link link, const struct rd_frame *frame)
{
	struct trigger *first = NULL;
	struct rd_packet p;
	uint32_t shown;

	if (!rd_packet_parse(link, frame->data, frame->caplen, frame->len, &p))
		return NULL;
	if (w->stall)
		stall_packet(w->stall, &p, frame);
	shown = judge(w, &p, frame);
	for (unsigned int i = 0; shown && i < w->n; i++) {
		struct trigger *t = w->triggers[i];

		if (!(shown & 1U << t->name->wire) || !matches(t, &p))
			continue;
		if (t->rate && !passes(&w->rates[i], t->most, frame->ts_ns))
			continue;
		atomic_fetch_add_explicit(&t->fired, 1, memory_order_relaxed);
		if (!first)
			first = t;
	}
	return first;
}

void wire_describe(const struct trigger *t, enum rd_link link, const struct rd_frame *frame,
	char *out, size_t size)
{
	int n = snprintf(out, size, "trigger %s: ", t->text);

	if ((size_t)n < size)
		rd_packet_line(out + n, size - (size_t)n, frame, link, RD_LINE_NO_TIME);
}
