/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which host the others wait for: the one that begins messages long after its peers' messages of
 * the same number arrived, while nothing else arrives. Each time is of one capture's clock.
 */
#include "points.h"
#include <rdmadump/array.h>
#include <stdlib.h>

#define HOSTS_LEAST 4
#define LATE_LEAST  8  /* messages */
#define FAR	    4  /* times as late as any other host, and as its own longest time */
#define SHARE	    20 /* the least part of the time of its capture */

/* An address, as its own capture has it. */
struct own {
	uint32_t address;
	const struct rd_host *host;
	const struct rd_report *of;
};

/* Hosts that a path joins, directly or through others, have the same number. */
static void join_groups(const struct rd_points *p, uint32_t *group)
{
	bool again = true;

	for (uint32_t i = 0; i < p->n_hosts; i++)
		group[i] = i;
	while (again) {
		again = false;
		for (size_t i = 0; i < p->n_paths; i++) {
			uint32_t *a = &group[p->paths[i].from], *b = &group[p->paths[i].to];

			again |= *a != *b;
			*a = *b = *a < *b ? *a : *b;
		}
	}
}

static uint64_t frames_of(const struct rd_host *h)
{
	return h ? h->sent_frames + h->received_frames : 0;
}

/* Of each address of a captured host: that with most of its frames. */
static void find_own(const struct rd_points *p, struct own *own)
{
	for (size_t i = 0; i < p->n_captures; i++) {
		const struct rd_report *r = p->captures[i].report;

		for (size_t k = 0; k < r->hosts.n; k++) {
			const struct rd_host *h = &r->hosts.host[k];
			const uint32_t at = points_address(p, h->address);

			if (at < p->n_addresses &&
				p->hosts[p->host_of[at]].captured >= RD_POINTS_LIKELY &&
				frames_of(h) > frames_of(own[at].host))
				own[at] = (struct own){at, h, r};
		}
	}
}

static int latest(const void *x, const void *y)
{
	const struct own *a = x, *b = y;

	return RD_ORDER(b->host->late.ns, a->host->late.ns) ?: RD_ORDER(a->address, b->address);
}

/* Of these, the addresses in a group that exchange messages with two hosts at least. */
static size_t keep_group(const struct rd_points *p, const struct own *own, const uint32_t *group,
	uint32_t one, struct own *to)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->n_addresses; i++)
		if (own[i].host && group[p->host_of[i]] == one && own[i].host->senders > 1 &&
			own[i].host->receivers > 1)
			to[n++] = own[i];
	qsort(to, n, sizeof(*to), latest);
	return n;
}

static void judge(struct rd_points *p, const struct own *own, size_t n)
{
	const struct rd_late *late;
	uint64_t duration;

	if (n < HOSTS_LEAST)
		return;
	late = &own->host->late;
	if (late->n < LATE_LEAST || late->max_ns > late->ns / FAR ||
		own[1].host->late.ns > late->ns / FAR)
		return;
	duration = own->of->totals.last_ns - own->of->totals.first_ns;
	if (late->ns / (duration / SHARE + 1) && late->ns > p->straggler.late.ns)
		p->straggler = (struct rd_points_straggler){own->address, n, *late,
			own[1].host->late.ns, points_owner(p, true, own->address)};
}

/* A host may also be late because packets are lost or paused, or responses slow. */
static bool has_faults(const struct rd_points *p)
{
	return p->common.faulty ||
	       RD_ANY(path, p->paths, p->n_paths,
		       path->count[RD_POINTS_LOST] || path->count[RD_POINTS_RETRANSMITTED] ||
			       path->count[RD_POINTS_PAUSES]);
}

int points_straggler(struct rd_points *p)
{
	uint32_t *group = calloc(p->n_hosts + 1, sizeof(*group));
	struct own *own = calloc(2 * p->n_addresses + 1, sizeof(*own));

	if (group && own && !has_faults(p)) {
		join_groups(p, group);
		find_own(p, own);
		for (uint32_t i = 0; i < p->n_hosts; i++)
			if (group[i] == i)
				judge(p, own + p->n_addresses,
					keep_group(p, own, group, i, own + p->n_addresses));
	}
	free(group);
	free(own);
	return group && own ? 0 : -1;
}
