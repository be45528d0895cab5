/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the time of a side's requests was spent: each interval between two frames belongs to the
 * party that sent the second one, since all others waited for it.
 */
#pragma once

#include <rdmadump/verdict.h>

/* Of a flow that has requests. */
struct times {
	uint64_t last_ns;	/* of the last frame that belongs to them */
	uint32_t messages;	/* begun */
	struct rd_times so_far; /* gap_ns UINT32_MAX: none */
};

/* A frame with an earlier timestamp than the previous one adds nothing. */
static inline void times_spend(struct times *t, enum rd_time what, uint64_t ns)
{
	if (ns <= t->last_ns)
		return;
	t->so_far.ns[what] += ns - t->last_ns;
	t->last_ns = ns;
}

/*
 * A request after an interval in which none was open. If the peer started a message of its own in
 * that interval, the requester waited for it.
 */
static inline void times_resume(struct times *t, uint64_t peer_ns, uint64_t ns)
{
	t->so_far.pauses++;
	if (peer_ns > t->last_ns && peer_ns < ns)
		times_spend(t, RD_TIME_REPLY, peer_ns);
	times_spend(t, RD_TIME_IDLE, ns);
}

/* A full packet after another one of its message: shows how fast the sender can send. */
static inline void times_gap(struct times *t, uint64_t ns)
{
	if (ns > t->last_ns && ns - t->last_ns < t->so_far.gap_ns)
		t->so_far.gap_ns = (uint32_t)(ns - t->last_ns);
}

/* Before the time of a frame is used; `ns`: of the next frame. */
void times_begin(struct rd_analysis *a, uint64_t ns);
