/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The newest frames of a flow by PSN and IP identification, to recognise copies of them. */
#include "state.h"
#include <stdlib.h>

#define RECENT_FIRST 4
#define ID_STEP	     256 /* a sender's other QPs use identifications in between */
#define ID_STEPS     8192
/* Of TIME_STEP_NS: half of the shortest local ACK timeout that a QP can have, 8.192 us (IBTA
 * volume 1, 9.7.6.1.3); devices have a floor of their own, which is far longer. Missing responses
 * to READs and atomics make the sender go back without a timer. */
#define COPY_STEPS	 32
#define COPY_STEPS_FETCH 8
#define COPY_NS		 UINT64_C(1000000) /* between CNPs */

/* The slot of a PSN. The upper half of a value is the lower 16 bits of its PSN. */
static uint32_t *recent_at(const struct flow *f, bool response, uint32_t psn)
{
	return &f->recent.value[response][psn & (f->recent.capacity[response] - 1U)];
}

/* Whether both PSNs have the same slot in the largest table. */
static bool is_same_place(uint32_t value, uint32_t psn)
{
	return ((value >> 16 ^ psn) & (RECENT - 1)) == 0;
}

static bool recent_grow(struct rd_analysis *a, struct flow *f, bool response)
{
	unsigned int old = f->recent.capacity[response], capacity = old ? old * 2 : RECENT_FIRST;
	uint32_t *was = f->recent.value[response], *now = malloc(capacity * sizeof(*now));

	if (!now) {
		a->out_of_memory = true;
		return false;
	}
	memset(now, 0xff, capacity * sizeof(*now));
	for (unsigned int i = 0; i < old; i++)
		if (was[i] != RECENT_NONE)
			now[was[i] >> 16 & (capacity - 1)] = was[i];
	free(was);
	f->recent.value[response] = now;
	f->recent.capacity[response] = (uint8_t)capacity;
	return true;
}

void flow_remember_more(
	struct rd_analysis *a, struct flow *f, uint32_t psn, uint32_t value, bool response)
{
	uint32_t *at = f->recent.capacity[response] ? recent_at(f, response, psn) : NULL;

	while (!at || (*at != RECENT_NONE && !is_same_place(*at, psn))) {
		if (!recent_grow(a, f, response))
			return;
		at = recent_at(f, response, psn);
	}
	*at = value;
}

/*
 * Senders give each frame a new IP identification, retransmissions included; a duplicated frame has
 * that of the first one. A sender that always writes the same identification proves nothing.
 */
bool flow_is_duplicate(const struct flow *f, const struct item *it, bool response)
{
	uint32_t psn = it->p->psn, was, before;

	if (!f->recent.capacity[response])
		return false;
	was = *recent_at(f, response, psn);
	before = *recent_at(f, response, psn - 1);
	if (!is_same_place(before, psn - 1))
		before = RECENT_NONE;
	return HAS_IP_ID(it->ip_id) && was == (psn << 16 | it->ip_id) &&
	       (before & 0xffff) != it->ip_id;
}

/* CNPs have no PSNs: the newest are compared, unless all have the same: their sender's only one. */
bool flow_is_same_cnp(struct flow *f, const struct item *it)
{
	const struct rd_incident *last = incident_of(&f->incidents, RD_INC_CNP);
	const uint16_t id = (uint16_t)it->ip_id;
	uint16_t *was = f->recent.cnps;
	const bool others = RD_ANY(w, was, NEWEST_CNPS, *w && *w != id);
	unsigned int same = 0;

	for (unsigned int i = 0; i < NEWEST_CNPS; i++)
		same += was[i] == id;
	memmove(was + 1, was, (NEWEST_CNPS - 1) * sizeof(*was));
	*was = id;
	return HAS_IP_ID(it->ip_id) && last && same && (same == 1 || others) &&
	       id != f->recent.ip_id && it->ns - last->last_ns < COPY_NS;
}

bool flow_is_recent(const struct flow *f, const struct item *it)
{
	uint32_t psn = it->p->psn, was;
	uint16_t steps;
	bool fetches;

	if (HAS_IP_ID(it->ip_id) || !f->recent.capacity[0] ||
		it->ns - f->recent.ns > COPY_STEPS * TIME_STEP_NS)
		return false;
	was = *recent_at(f, false, psn);
	steps = (uint16_t)(it->ns / TIME_STEP_NS - (was & 0xffff));
	fetches = f->req.verb_at[RD_VERB_READ] || f->req.verb_at[RD_VERB_ATOMIC];
	return was != RECENT_NONE && was >> 16 == (psn & 0xffff) &&
	       steps <= (fetches ? COPY_STEPS_FETCH : COPY_STEPS);
}

uint32_t flow_id_of(const struct flow *f, uint32_t psn)
{
	uint32_t value = f->recent.capacity[0] ? *recent_at(f, false, psn) : RECENT_NONE;

	return value != RECENT_NONE && value >> 16 == (psn & 0xffff) ? value & 0xffff : 0;
}

/* Whether the sender counts its identifications, as its three newest requests show. */
static bool ids_count(const struct flow *f, uint32_t *newest)
{
	uint32_t id = flow_id_of(f, psn_add(f->req.next, 0xffffff));

	*newest = id;
	for (uint32_t back = 2; back <= 3; back++) {
		uint32_t older = flow_id_of(f, psn_add(f->req.next, 0x1000000 - back));
		uint16_t step = (uint16_t)(id - older);

		if (!id || !older || !step || step > ID_STEP)
			return false;
		id = older;
	}
	return true;
}

/*
 * Compared with the newest request, and with the copy of the same packet that came before: one that
 * is a retransmission has a later identification.
 */
enum sent flow_sent(const struct flow *f, const struct item *it)
{
	uint32_t newest, copy = flow_id_of(f, it->p->psn);
	uint16_t ahead;

	if (!HAS_IP_ID(it->ip_id) || !ids_count(f, &newest))
		return SENT_UNKNOWN;
	ahead = (uint16_t)((copy ? copy : newest) - it->ip_id);
	if (ahead && ahead <= ID_STEPS)
		return SENT_BEFORE;
	return ahead && (uint16_t)-ahead <= ID_STEPS ? SENT_AFTER : SENT_UNKNOWN;
}

bool flow_is_again(const struct flow *f, const struct item *it)
{
	bool response = it->p->op->bits & RD_OP_RESPONSE;
	uint32_t psn = it->p->psn, was = RECENT_NONE, before = f->recent.ip_id;

	if (!HAS_IP_ID(it->ip_id))
		return false;
	if (f->recent.capacity[response])
		was = *recent_at(f, response, psn);
	if (was != RECENT_NONE && was >> 16 == (psn & 0xffff))
		before = was & 0xffff;
	return (int16_t)(it->ip_id - before) > 0;
}
