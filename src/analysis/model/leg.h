/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Traffic from one host to another (a leg), and bursts towards a host. Bounded: leg.c. */
#pragma once

#include <rdmadump/array.h>
#include <rdmadump/verdict.h>

#define HOSTS_MAX 1024
#define LEGS_MAX  4096

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

struct leg {
	struct host *from, *to;
	uint64_t window; /* the last one in which it had a frame */
	uint64_t k1;	 /* of its flows: both addresses */
};

/*
 * Frames and bytes of legs are those of their flows. The last host and the last leg represent all
 * those for which there is no room.
 */
struct legs {
	struct host hosts[HOSTS_MAX + 1];
	struct leg legs[LEGS_MAX + 1];
	uint16_t host_slots[HOSTS_MAX * 2], leg_slots[LEGS_MAX * 2]; /* index + 1; 0: empty */
	unsigned int n_hosts, n_legs;
	uint64_t window, since_ns; /* number and start of the current window */
};

/* The leg of a flow's frames. */
struct leg *leg_of(struct legs *l, const struct flow *f);
/* The last window of a host is its largest one so far. */
void leg_close(struct host *h);
/* The first frame of a leg in a window. */
void leg_begin(const struct legs *l, struct leg *leg, uint64_t ns, uint64_t frame);

/* A QP of this leg had waited since `from` when it got a response: no less than WAITED_NS. */
void leg_quiet(struct leg *leg, uint64_t from, uint64_t to);

/* Counts a frame. A window begins with the first frame after the previous one has ended. */
static inline void leg_take(
	struct legs *l, struct leg *leg, uint32_t len, uint64_t ns, uint64_t frame)
{
	if (ns - l->since_ns >= RD_BURST_NS) {
		l->since_ns = ns;
		l->window++;
	}
	if (leg->window != l->window)
		leg_begin(l, leg, ns, frame);
	leg->to->bytes += len;
}

/* A host begins a message after `from` and after all that had arrived: it is late. */
static inline void leg_late(struct host *h, uint64_t from, uint64_t ns)
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
