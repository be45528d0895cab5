/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens a device as captures do, sends numbered frames, and receives them. Every round sends the
 * same bytes, so that what the rounds delivered can be compared.
 */
#include "paths.h"
#include <rdmadump/bytes.h>
#include <rdmadump/clock.h>
#include <rdmadump/hash.h>
#include <stdio.h>
#include <string.h>

#define LOG2_ONE     8 /* buffers of a single queue */
#define LOG2_SEVERAL 7 /* ... of each of several queues */
#define WAIT_MS	     1000
#define LISTEN_MS    200 /* how long to listen if nothing can be sent */
#define SETTLE_MS    5	 /* wait for second copies */
#define PER_FLOW     4

#define ETHER_BYTES 14
#define UDP_BYTES   8
#define IPV4_BYTES  20
#define IPV6_BYTES  40
#define UDP_PORT    9 /* discard: there is no response */

_Static_assert(PATH_FLOWS *PER_FLOW == PATH_FRAMES, "frames of a round");

struct round {
	struct path_round *to;
	struct rd_selftest *st;
	struct rd_source *source[PATH_QUEUES];
	struct numbered seen;
	bool sending;
	uint8_t queue_of[PATH_FLOWS]; /* the queue of the flow's first frame, + 1; 0: none yet */
};

/* --- what is sent ------------------------------------------------------------------------- */

/* Ports that differ in many bits, since queues are chosen by a few bits of a linear hash. */
static void put_udp(uint8_t *at, unsigned int flow, uint32_t payload)
{
	rd_put_be16(at, (uint16_t)(49152 + (flow * 40503 & 0x3fff)));
	rd_put_be16(at + 2, UDP_PORT);
	rd_put_be16(at + 4, (uint16_t)(UDP_BYTES + payload));
}

static uint16_t ipv4_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < IPV4_BYTES; i += 2)
		sum += rd_be16(header + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* RFC 5737: addresses for documentation, which no host uses. Returns the bytes of the headers. */
static uint32_t put_ipv4(uint8_t *at, unsigned int flow, uint32_t payload)
{
	rd_put_be16(at - 2, 0x0800);
	at[0] = 0x45;
	rd_put_be16(at + 2, (uint16_t)(IPV4_BYTES + UDP_BYTES + payload));
	at[8] = 1; /* hops */
	at[9] = 17;
	memcpy(at + 12, (const uint8_t[]){192, 0, 2, 1, 192, 0, 2, 2}, 8);
	rd_put_be16(at + 10, ipv4_checksum(at));
	put_udp(at + IPV4_BYTES, flow, payload);
	return IPV4_BYTES + UDP_BYTES;
}

/* RFC 3849, likewise. */
static uint32_t put_ipv6(uint8_t *at, unsigned int flow, uint32_t payload)
{
	static const uint8_t prefix[4] = {0x20, 0x01, 0x0d, 0xb8};

	rd_put_be16(at - 2, 0x86dd);
	at[0] = 0x60;
	rd_put_be16(at + 4, (uint16_t)(UDP_BYTES + payload));
	at[6] = 17;
	at[7] = 1; /* hops */
	memcpy(at + 8, prefix, sizeof(prefix));
	memcpy(at + 24, prefix, sizeof(prefix));
	at[23] = 1;
	at[39] = 2;
	put_udp(at + IPV6_BYTES, flow, payload);
	return IPV6_BYTES + UDP_BYTES;
}

static void set_head(struct numbered_sender *s, unsigned int flow)
{
	static uint32_t (*const put[PATH_PROTOCOLS])(uint8_t *, unsigned int, uint32_t) = {
		put_ipv4, put_ipv6};
	uint8_t *at = s->head + ETHER_BYTES;

	memset(at, 0, sizeof(s->head) - ETHER_BYTES);
	s->head_len = ETHER_BYTES +
		      put[flow / PATH_FLOWS_IP](at, flow % PATH_FLOWS_IP, s->len - NUMBERED_HEAD);
}

/* --- what arrives ------------------------------------------------------------------------- */

static uint64_t hash_of(const struct rd_frame *f)
{
	struct rd_hash h = rd_hash_begin();
	unsigned int words = rd_hash_add_bytes(&h, f->data, f->caplen);

	return rd_hash_end(&h, words);
}

static void take(struct round *r, const struct rd_frame *f, unsigned int queue)
{
	struct path_round *to = r->to;
	unsigned int flow;

	to->frames++;
	if (!numbered_take(&r->seen, f->data, f->caplen))
		return;
	flow = r->seen.last / PER_FLOW;
	to->by_queue[flow / PATH_FLOWS_IP][queue]++;
	if (!r->queue_of[flow])
		r->queue_of[flow] = (uint8_t)(queue + 1);
	to->strayed += r->queue_of[flow] != queue + 1;
	/* A copy of a frame, sent and received, does not change the set. */
	if (r->seen.times[r->seen.last] == 1)
		to->hash += hash_of(f);
}

/* Receives what is there; returns the number of frames. */
static unsigned int drain(struct round *r)
{
	unsigned int all = 0;

	for (unsigned int q = 0; q < r->to->queues && !r->to->error[0]; q++) {
		struct rd_source *s = r->source[q];
		struct rd_frame frames[RD_BATCH];
		struct rd_error err;
		int n = s->ops->receive(s, frames, RD_BATCH, &err);

		if (n == -1)
			snprintf(r->to->error, sizeof(r->to->error), "%.400s", err.text);
		for (int i = 0; i < n; i++)
			take(r, &frames[i], q);
		if (n <= 0)
			continue;
		s->ops->release(s);
		all += (unsigned int)n;
	}
	return all;
}

/* For `ms`, or until all numbers have arrived and nothing follows. */
static void receive_for(struct round *r, unsigned int ms)
{
	uint64_t end = rd_monotonic_ns() + ms * 1000000ULL;
	unsigned int settled = 0;

	while (!probe_over(r->st) && rd_monotonic_ns() < end && settled < SETTLE_MS &&
		!r->to->error[0]) {
		settled += r->sending && numbered_counts(&r->seen).never == 0;
		if (!drain(r) || settled)
			probe_sleep_ms(r->st, 1);
	}
}

static void send_all(struct round *r, struct numbered_sender *sender)
{
	for (unsigned int flow = 0; flow < PATH_FLOWS; flow++) {
		set_head(sender, flow);
		if (numbered_send(r->st, sender, flow * PER_FLOW, PER_FLOW) != PER_FLOW)
			return;
		drain(r);
		receive_for(r, PER_FLOW * 1000 / SEND_PER_S);
	}
}

/* --- the round ---------------------------------------------------------------------------- */

/* Whether the device's counters, read late enough, show no loss. */
static bool is_lossless(struct round *r)
{
	struct rd_source *s = r->source[0];
	struct rd_source_stats stats;

	s->ops->stats(s, &stats);
	probe_sleep_ms(r->st, stats.loss_delay_ms + 1);
	if (s->ops->measure)
		s->ops->measure(s);
	s->ops->stats(s, &stats);
	return stats.loss_known && !stats.lost && !stats.gaps;
}

static void run_opened(struct round *r, struct numbered_sender *sender)
{
	struct rd_source *first = r->source[0];
	struct rd_error err;

	if (first->ops->start(first, &err) < 0) {
		snprintf(r->to->error, sizeof(r->to->error), "%.400s", err.text);
		return;
	}
	if (sender)
		send_all(r, sender);
	receive_for(r, sender ? WAIT_MS : LISTEN_MS);
	first->ops->stop(first);
	for (unsigned int i = 0; i < PATH_FRAMES && drain(r); i++)
		;
	r->to->seen = numbered_counts(&r->seen);
	r->to->changed = r->seen.changed + r->seen.cut;
	r->to->lossless = !r->to->seen.never || is_lossless(r);
}

void path_round_run(struct path_round *p, enum rd_rx_mode mode, unsigned int queues,
	struct rd_selftest *st, struct numbered_sender *sender)
{
	const struct rd_verbs_config config = {.device = st->device,
		.port = st->port,
		.log2_buffers = queues > 1 ? LOG2_SEVERAL : LOG2_ONE,
		.rx_mode = mode,
		.stamps = RD_STAMPS_HOST,
		.sysroot = ""};
	struct round r = {.to = p, .st = st, .sending = sender != NULL};
	struct rd_error err;

	*p = (struct path_round){.queues = queues};
	if (numbered_init(&r.seen, PATH_FRAMES) < 0) {
		snprintf(p->error, sizeof(p->error), "out of memory");
		return;
	}
	/* Every round sends the same bytes. */
	r.seen.run = sender ? sender->run : r.seen.run;
	if (rd_verbs_open_queues(r.source, &p->queues, &config, &err) < 0) {
		snprintf(p->error, sizeof(p->error), "%.400s", err.text);
	} else {
		p->opened = true;
		p->path = r.source[0]->path;
		snprintf(p->details, sizeof(p->details), "%s", r.source[0]->details);
		run_opened(&r, sender);
		r.source[0]->ops->close(r.source[0]);
	}
	numbered_free(&r.seen);
}
