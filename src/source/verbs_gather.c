/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lets completions gather while the receiving thread sleeps, so that it wakes up less often. */
#include "verbs_port.h"

/* at a million frames/s: 1000 wake-ups a second */
#define COUNT_MAX 1024U

/* The shortest Ethernet frame on the wire, with preamble and gap: it fills a ring fastest. */
#define WIRE_BYTES_MIN 84U
#define NAP_NS_MIN     UINT64_C(20000) /* shorter waits cost more than polling */
#define EARLY_MAX      16

/* The time in which frames of this length fill a quarter of the ring at the port's speed. */
static uint64_t quarter_ns(const struct verbs_queue *q, uint32_t wire_bytes)
{
	uint64_t bits = (uint64_t)(q->ring.n / 4) * wire_bytes * 8;
	uint64_t latency = q->port->latency_us * UINT64_C(1000);
	uint64_t ns = q->port->speed ? bits * 1000000000 / q->port->speed : 0;

	return RD_MIN(ns, latency);
}

static void set_nap(struct verbs_queue *q)
{
	q->gather.count = 0;
	q->src.nap_ns.least = quarter_ns(q, WIRE_BYTES_MIN);
	q->src.nap_ns.most = quarter_ns(q, q->port->frame_room);
	q->src.gathers = q->src.nap_ns.least >= NAP_NS_MIN;
	if (!q->src.gathers)
		q->src.nap_ns.least = q->src.nap_ns.most = 0;
}

void verbs_gather_init(struct verbs_queue *q)
{
	const struct ibv_cq_moderation_caps *caps = &q->port->moderation;
	uint32_t count = RD_MIN(q->ring.n / 4, RD_MIN(COUNT_MAX, caps->max_cq_count));
	uint32_t period_us = RD_MIN(q->port->latency_us, caps->max_cq_period);
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {.cq_count = (uint16_t)count, .cq_period = (uint16_t)period_us}};

	if (!q->port->latency_us || !q->port->clock.kind->wc_flags)
		return;
	if (count < 2 || !period_us || ibv_modify_cq(q->cq, &attr)) {
		set_nap(q);
		return;
	}
	q->gather = (struct verbs_gather){.count = count, .period_us = period_us};
	q->src.gathers = true;
}

void verbs_gather_event(struct verbs_queue *q)
{
	struct verbs_gather *g = &q->gather;
	uint64_t now, waited;

	if (!g->count)
		return;
	now = rd_monotonic_ns();
	waited = now - g->event_ns;
	g->early = waited < g->period_us * UINT64_C(500) && g->frames < g->count / 2 ? g->early + 1
										     : 0;
	g->event_ns = now;
	g->frames = 0;
	if (g->early < EARLY_MAX)
		return;
	set_nap(q);
	rd_log(RD_LOG_DEBUG, "%s: the device ignores CQ moderation; %s", q->port->name,
		q->src.gathers ? "using timed waits" : "waking up for each frame");
}
