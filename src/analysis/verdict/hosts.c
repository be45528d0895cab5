/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Totals of hosts and of pairs of hosts, fan-in and bursts. */
#include "../model/state.h"
#include "verdict.h"
#include <stdlib.h>

static int larger_pair(const void *x, const void *y)
{
	const struct rd_host_pair *a = x, *b = y;

	return RD_ORDER(b->bytes, a->bytes) ?: RD_ORDER(a->from, b->from) ?: RD_ORDER(a->to, b->to);
}

/* Frames and bytes of each path, from its flows. */
static void fill_pairs(const struct rd_analysis *a, struct rd_hosts *hosts)
{
	const struct host_paths *l = a->paths;

	for (unsigned int i = 0; i < l->n_paths; i++) {
		hosts->pair[i].from = (unsigned int)(l->paths[i].from - l->hosts);
		hosts->pair[i].to = (unsigned int)(l->paths[i].to - l->hosts);
	}
	for (size_t i = 0; i < a->flows.n; i++) {
		const struct flow *f = a->flows.all[i];
		size_t at = (size_t)(f->path - l->paths);

		/* Beyond the limits of paths or of hosts. */
		if (at == HOST_PATHS_MAX || f->path->from == &l->hosts[HOSTS_MAX] ||
			f->path->to == &l->hosts[HOSTS_MAX]) {
			hosts->frames_left_out += f->traffic.frames;
			hosts->bytes_left_out += f->traffic.wire_bytes;
			continue;
		}
		hosts->pair[at].frames += f->traffic.frames;
		hosts->pair[at].bytes += f->traffic.wire_bytes;
	}
}

/* Removes the pairs that stand for what was left out. */
static void drop_rest(struct rd_hosts *hosts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (hosts->pair[i].from < HOSTS_MAX && hosts->pair[i].to < HOSTS_MAX)
			hosts->pair[hosts->n_pairs++] = hosts->pair[i];
}

static int busier_host(const void *x, const void *y)
{
	const struct rd_host *a = x, *b = y;
	uint64_t m = a->received_bytes + a->sent_bytes, n = b->received_bytes + b->sent_bytes;

	return RD_ORDER(n, m) ?: strcmp(a->address, b->address);
}

/* Those with most bytes first; the pairs keep their hosts. False if out of memory. */
static bool sort_hosts(struct rd_hosts *hosts)
{
	unsigned int *place = malloc((hosts->n + 1) * sizeof(*place));

	if (!place)
		return false;
	for (size_t i = 0; i < hosts->n; i++)
		hosts->host[i].number = (unsigned int)i;
	qsort(hosts->host, hosts->n, sizeof(*hosts->host), busier_host);
	for (size_t i = 0; i < hosts->n; i++)
		place[hosts->host[i].number] = (unsigned int)i;
	for (size_t i = 0; i < hosts->n_pairs; i++) {
		hosts->pair[i].from = place[hosts->pair[i].from];
		hosts->pair[i].to = place[hosts->pair[i].to];
	}
	free(place);
	return true;
}

static void fill_host(struct rd_host *to, const struct host *from)
{
	struct host last = *from;

	if (last.bytes > last.sum.peak_bytes)
		host_window_end(&last);
	*to = last.sum;
	rd_address_text(to->address, last.net, last.address);
}

int hosts_make(const struct rd_analysis *a, struct rd_hosts *hosts)
{
	const struct host_paths *l = a->paths;

	hosts->host = calloc(l->n_hosts + 1, sizeof(*hosts->host));
	hosts->pair = calloc(l->n_paths + 1, sizeof(*hosts->pair));
	if (!hosts->host || !hosts->pair)
		return -1;
	hosts->n = l->n_hosts;
	fill_pairs(a, hosts);
	drop_rest(hosts, l->n_paths);
	qsort(hosts->pair, hosts->n_pairs, sizeof(*hosts->pair), larger_pair);
	for (size_t i = 0; i < hosts->n; i++)
		fill_host(&hosts->host[i], &l->hosts[i]);
	for (size_t i = 0; i < hosts->n_pairs; i++) {
		const struct rd_host_pair *p = &hosts->pair[i];
		struct rd_host *from = &hosts->host[p->from], *to = &hosts->host[p->to];

		from->sent_frames += p->frames;
		from->sent_bytes += p->bytes;
		from->receivers++;
		to->received_frames += p->frames;
		to->received_bytes += p->bytes;
		to->senders++;
	}
	return sort_hosts(hosts) ? 0 : -1;
}

void hosts_free(struct rd_hosts *hosts)
{
	free(hosts->host);
	free(hosts->pair);
}
