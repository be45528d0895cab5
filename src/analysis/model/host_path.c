/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the path of a flow, and keeps the largest burst towards each host. */
#include "host_path.h"
#include "flow.h"
#include <rdmadump/hash.h>

/* The host with this address, made if there is room; else the one for all others. */
static struct host *host_of(struct host_paths *l, unsigned int net, const uint8_t *address)
{
	size_t i = (size_t)rd_hash2(rd_le64(address) ^ net, rd_le64(address + 8)) % (HOSTS_MAX * 2);
	struct host *h;

	for (; l->host_slots[i]; i = (i + 1) % (HOSTS_MAX * 2)) {
		h = &l->hosts[l->host_slots[i] - 1];
		if (h->net == net && !memcmp(h->address, address, sizeof(h->address)))
			return h;
	}
	if (l->n_hosts == HOSTS_MAX) {
		l->hosts[HOSTS_MAX].net = (uint8_t)net;
		return &l->hosts[HOSTS_MAX];
	}
	h = &l->hosts[l->n_hosts++];
	l->host_slots[i] = (uint16_t)l->n_hosts;
	h->net = (uint8_t)net;
	memcpy(h->address, address, sizeof(h->address));
	return h;
}

struct host_path *host_path_of(struct host_paths *l, const struct flow *f)
{
	size_t i = (size_t)rd_hash2(f->key.k1, f->id.net) % (HOST_PATHS_MAX * 2);
	struct host_path *path;

	for (; l->path_slots[i]; i = (i + 1) % (HOST_PATHS_MAX * 2)) {
		path = &l->paths[l->path_slots[i] - 1];
		if (path->k1 == f->key.k1 && path->from->net == f->id.net)
			return path;
	}
	if (l->n_paths == HOST_PATHS_MAX) {
		l->paths[HOST_PATHS_MAX].from = l->paths[HOST_PATHS_MAX].to = &l->hosts[HOSTS_MAX];
		return &l->paths[HOST_PATHS_MAX];
	}
	path = &l->paths[l->n_paths++];
	l->path_slots[i] = (uint16_t)l->n_paths;
	path->k1 = f->key.k1;
	path->from = host_of(l, f->id.net, f->id.src);
	path->to = host_of(l, f->id.net, f->id.dst);
	return path;
}

void host_window_end(struct host *h)
{
	h->sum.peak_bytes = h->bytes;
	h->sum.peak_senders = h->senders;
	h->sum.peak_ns = h->window_ns;
	h->sum.peak_frame = h->window_frame;
}

void host_path_begin(
	const struct host_paths *l, struct host_path *path, uint64_t ns, uint64_t frame)
{
	struct host *h = path->to;

	path->window = l->window;
	if (h->window != l->window) {
		if (h->bytes > h->sum.peak_bytes)
			host_window_end(h);
		h->window = l->window;
		h->window_ns = ns;
		h->window_frame = frame;
		h->bytes = 0;
		h->senders = 0;
	}
	if (++h->senders > h->sum.most_senders)
		h->sum.most_senders = h->senders;
}

/* False: the waits have too little time in common. Those of one QP have none. */
static bool quiet_join(struct quiet *q, uint64_t from, uint64_t to)
{
	from = from > q->from_ns ? from : q->from_ns;
	to = to < q->to_ns ? to : q->to_ns;
	if (to < from + WAITED_NS)
		return false;
	*q = (struct quiet){from, to, q->qps + 1};
	return true;
}

void host_path_quiet(struct host_path *path, uint64_t from, uint64_t to)
{
	struct host *ends[] = {path->from, path->to};

	for (size_t i = 0; i < 2; i++) {
		struct quiet *q = ends[i]->quiet;

		quiet_join(&q[0], from, to);
		if (!quiet_join(&q[1], from, to))
			q[1] = (struct quiet){from, to, 1};
		if (q[1].qps > q[0].qps)
			q[0] = q[1];
	}
}
