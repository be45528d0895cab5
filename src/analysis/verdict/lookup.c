/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds conversations, hosts and ports of a report, incast, and causes. */
#include "../rules/rules.h"
#include "verdict.h"
#include <stdlib.h>

#define INCAST_SENDERS 3   /* within 100 us, towards one host */
#define LINK_PART      2   /* the least part of the link's rate that they fill */
#define SLOWEST_LINK   1e9 /* bit/s, where the rate is unknown */

int lookup_make(struct rd_report *r)
{
	unsigned int most = 0;

	for (size_t i = 0; i < r->n_conversations; i++)
		most = RD_MAX(most, r->conversations[i].id);
	r->place_of = calloc((size_t)most + 1, sizeof(*r->place_of));
	if (!r->place_of)
		return -1;
	r->n_places = (size_t)most + 1;
	for (size_t i = 0; i < r->n_conversations; i++)
		r->place_of[r->conversations[i].id] = (uint32_t)i;
	return 0;
}

const struct rd_conversation *conversation_of(const struct rd_report *r, unsigned int id)
{
	const struct rd_conversation *c;

	if (!id || id >= r->n_places)
		return NULL;
	c = &r->conversations[r->place_of[id]];
	return c->id == id ? c : NULL;
}

const struct rd_host *host_of(const struct rd_report *r, const char *address)
{
	return RD_FIND(h, r->hosts.host, r->hosts.n, !strcmp(h->address, address));
}

/*
 * The rate of the link to a host, bit/s: that of the capturing port, or as fast as full packets to
 * it follow each other; 0: unknown.
 */
static double link_rate(const struct rd_report *r, const char *receiver)
{
	double best = (double)r->port_speed;

	for (size_t i = 0; !r->port_speed && i < r->n_conversations; i++)
		for (unsigned int side = 0; side < 2; side++) {
			const struct rd_conversation *c = &r->conversations[i];
			const struct rd_side *s = &c->side[side];

			if (s->times && s->times->gap_ns &&
				!strcmp(c->end[!side].address, receiver) &&
				best < s->mtu * 8e9 / (double)s->times->gap_ns)
				best = s->mtu * 8e9 / (double)s->times->gap_ns;
		}
	return best;
}

static bool fills(const struct rd_host *h, double rate)
{
	return (double)h->peak_bytes * 8e9 / (double)RD_BURST_NS * LINK_PART >= rate;
}

bool fills_link(const struct rd_report *r, const char *receiver)
{
	const struct rd_host *h = host_of(r, receiver);
	const double rate = link_rate(r, receiver);

	return h && rate > 0 && fills(h, rate);
}

bool is_incast(const struct rd_report *r, const struct rd_group *g, const char *receiver)
{
	const struct rd_host *h = host_of(r, receiver);
	const char *first = NULL;

	if (!h || h->most_senders < INCAST_SENDERS ||
		!fills(h, r->port_speed ? (double)r->port_speed : SLOWEST_LINK))
		return false;
	for (size_t i = 0; i < g->n; i++) {
		const struct rd_finding *f = g->finding[i];
		const struct rd_conversation *c = conversation_of(r, f->conversation);

		if (!c || strcmp(c->end[!f->side].address, receiver))
			continue;
		if (first && strcmp(first, c->end[f->side].address))
			return true;
		first = c->end[f->side].address;
	}
	return false;
}

bool is_local(const struct rd_report *r, const char *address)
{
	return RD_ANY(c, r->conversations, r->n_conversations,
		(tap_of(c, 0) == TAP_SENDER && !strcmp(c->end[0].address, address)) ||
			(tap_of(c, 1) == TAP_SENDER && !strcmp(c->end[1].address, address)));
}

const struct rd_pause_sender *pauser_of(const struct rd_report *r, const struct rd_finding *f)
{
	if (strcmp(f->rule, "pause-frames") != 0 || !f->evidence.n_frames)
		return NULL;
	return RD_FIND(s, r->pause_senders, r->n_pause_senders,
		RD_ANY(c, s->classes, RD_PAUSE_CLASSES,
			c->pauses.count && c->pauses.first_frame == f->evidence.frames[0]));
}

/* --- causes ----------------------------------------------------------------------------------- */

static const struct cause other = {.rank = 20, .places = {ANYWHERE(RD_PLACE_ALL)}};

const struct cause *cause_of(const char *rule)
{
	const struct cause *cause = &rule_of(rule)->cause;

	return cause->rank ? cause : &other;
}

bool is_cause(const struct cause *cause)
{
	return cause != &other;
}

/* RNR NAKs to requests that need no receive: the application is not the only place. */
static bool lacks_pages(const struct rd_conversation *c, const struct rd_finding *f)
{
	const struct rd_side *s = &c->side[f->side];
	const uint64_t pages = rd_side_incident(s, RD_INC_RNR_PAGES)->count;

	return !strcmp(f->rule, "rnr") && pages && pages >= rd_side_incident(s, RD_INC_RNR)->count;
}

unsigned int places_of(const struct cause *cause, const struct rd_conversation *c,
	const struct rd_finding *f, enum tap at)
{
	return cause->places[at] | (lacks_pages(c, f) ? RD_PLACE_RECEIVER_NIC : 0);
}
