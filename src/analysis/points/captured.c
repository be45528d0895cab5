/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which hosts were captured, and of which no capture is. */
#include "points.h"
#include <rdmadump/array.h>

static void mark(struct rd_points *p, const char *address, enum rd_points_captured how)
{
	const uint32_t at = points_address(p, address);
	struct rd_points_host *h = at < p->n_addresses ? &p->hosts[p->host_of[at]] : NULL;

	if (h && h->captured < how)
		h->captured = how;
}

/* By its facts, or by frames that it marks as sent. Returns whether facts name all addresses. */
static bool mark_own(struct rd_points *p, const struct rd_report *r)
{
	bool has_facts = false;

	for (size_t i = 0; i < r->n_ports; i++) {
		has_facts |= r->ports[i].n_addresses > 0;
		for (unsigned int k = 0; k < r->ports[i].n_addresses; k++)
			mark(p, r->ports[i].addresses[k], RD_POINTS_YES);
	}
	for (size_t i = 0; i < r->n_conversations; i++)
		for (int k = 0; k < 2; k++)
			if (r->conversations[i].local[k])
				mark(p, r->conversations[i].end[k].address, RD_POINTS_YES);
	return has_facts && !rd_findings_tally(&r->findings, "too-many-facts");
}

/* Whether another capture has packets from there later. */
static bool has_first(const struct rd_points *p, unsigned int capture, const char *address)
{
	return RD_ANY(pair, p->pairs, p->n_pairs,
		RD_ANY(path, pair->ends->paths, pair->ends->n_paths,
			path->sender_known && !strcmp(path->from, address) &&
				pair->capture[path->sender] == capture));
}

/* The address that all packets have in common; of two, the one whose packets are here first. */
static void mark_likely(struct rd_points *p, unsigned int capture)
{
	const struct rd_report *r = p->captures[capture].report;
	const char *end[2];
	bool fits[2];

	if (!r->n_conversations)
		return;
	for (int i = 0; i < 2; i++) {
		end[i] = r->conversations->end[i].address;
		fits[i] = !RD_ANY(c, r->conversations, r->n_conversations,
			strcmp(c->end[0].address, end[i]) && strcmp(c->end[1].address, end[i]));
	}
	if (fits[0] && fits[1])
		for (int i = 0; i < 2; i++)
			fits[i] = has_first(p, capture, end[i]);
	if (fits[0] != fits[1])
		mark(p, end[fits[1]], RD_POINTS_LIKELY);
}

void points_captured(struct rd_points *p)
{
	bool all_have_facts = true;

	for (unsigned int i = 0; i < p->n_captures; i++)
		if (!mark_own(p, p->captures[i].report)) {
			mark_likely(p, i);
			all_have_facts = false;
		}
	for (size_t i = 0; i < p->n_paths; i++) {
		struct rd_points_host *h = &p->hosts[p->paths[i].from];

		if (h->captured == RD_POINTS_SILENT && p->paths[i].count[RD_POINTS_PACKETS])
			h->captured = all_have_facts ? RD_POINTS_NO : RD_POINTS_UNKNOWN;
	}
}
