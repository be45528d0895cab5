/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Traffic from one host to another (its path), and bursts towards a host. Bounded: host_path.c. */
#pragma once

#include <rdmadump/array.h>
#include <rdmadump/verdict.h>

#define HOSTS_MAX      1024
#define HOST_PATHS_MAX 4096

struct flow;

/* A time in which QPs of a host waited for responses, all of them. */
struct quiet {
	uint64_t from_ns, to_ns;
	uint32_t qps;
};

#define WAITED_NS UINT64_C(2000000) /* shorter pauses of a link are not reported */

struct host {
	uint8_t address[16], net;
	uint64_t window;	 /* the last one in which it received */
	uint64_t bytes;		 /* ... and how much, since the window began */
	uint32_t senders;	 /* ... from how many hosts */
	struct rd_host sum;	 /* the window with most bytes, most_senders; late */
	uint64_t in_ns, late_ns; /* last packet of a message to it; when it was late last */
	uint64_t window_ns, window_frame; /* when its last window began */
	struct quiet quiet[2];		  /* the one of most QPs, the last one */
};

struct host_path {
	struct host *from, *to;
	uint64_t window; /* the last one in which it had a frame */
	uint64_t k1;	 /* of its flows: both addresses */
};

/*
 * Frames and bytes of paths are those of their flows. The last host and the last path represent all
 * those for which there is no room.
 */
struct host_paths {
	struct host hosts[HOSTS_MAX + 1];
	struct host_path paths[HOST_PATHS_MAX + 1];
	uint16_t host_slots[HOSTS_MAX * 2],
		path_slots[HOST_PATHS_MAX * 2]; /* index + 1; 0: empty */
	unsigned int n_hosts, n_paths;
	uint64_t window, since_ns; /* number and start of the current window */
};

/* The path of a flow's frames. */
struct host_path *host_path_of(struct host_paths *l, const struct flow *f);
/* The last window of a host is its largest one so far. */
void host_window_end(struct host *h);
/* The first frame of a path in a window. */
void host_path_begin(
	const struct host_paths *l, struct host_path *path, uint64_t ns, uint64_t frame);

/* A QP of this path had waited since `from` when it got a response: no less than WAITED_NS. */
void host_path_quiet(struct host_path *path, uint64_t from, uint64_t to);

/* Counts a frame. A window begins with the first frame after the previous one has ended. */
static inline void host_path_take(
	struct host_paths *l, struct host_path *path, uint32_t len, uint64_t ns, uint64_t frame)
{
	if (ns - l->since_ns >= RD_BURST_NS) {
		l->since_ns = ns;
		l->window++;
	}
	if (path->window != l->window)
		host_path_begin(l, path, ns, frame);
	path->to->bytes += len;
}

/* A host begins a message after `from` and after all that had arrived: it is late. */
static inline void host_late(struct host *h, uint64_t from, uint64_t ns)
{
	struct rd_late *late = &h->sum.late;

	from = from > h->in_ns ? from : h->in_ns;
	from = from > h->late_ns ? from : h->late_ns;
	if (ns <= from)
		return;
	h->late_ns = ns;
	late->n++;
	late->ns += ns - from;
	late->max_ns = RD_MAX(late->max_ns, ns - from);
}
