/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Retransmission rounds of an RC sender: it goes back to a PSN and sends again from there. */
#pragma once

#include "state.h"

/* Longest time that a response may be on its way from this point, far above healthy paths. */
#define UNDER_WAY_NS UINT64_C(1000000)
/* No path delays packets for longer, not even one between virtual machines. */
#define LONGEST_PATH_NS UINT64_C(20000000)

/* How many of the PSNs [psn, psn + n) are before the first frame of the capture. */
static inline uint32_t before_capture(const struct flow *f, uint32_t psn, uint32_t n)
{
	int32_t d = psn_diff(psn_add(f->req.first, f->req.before), psn);

	if (d <= 0 || !f->req.before)
		return 0;
	return (uint32_t)d < n ? (uint32_t)d : n;
}

/* Where a round begins: at the PSN of a NAK, else at the first one without an ACK. */
uint32_t round_origin(const struct flow *f);

/*
 * Whether a packet that was seen before begins a retransmission round, at *start. A single packet
 * from another PSN may be a straggler or reordered; two in sequence are a round.
 */
bool round_goes_back(struct flow *f, const struct item *it, uint32_t span, uint32_t *start);

/* The sender goes back to `start`; psn is the first packet seen of the round. */
void round_begin(struct rd_analysis *a, struct flow *f, struct trouble *t, uint32_t start,
	uint32_t psn, uint32_t span);

/*
 * A packet of a round: in sequence, after a gap, late, or before the first one seen (then that one
 * was reordered: a sender never goes back further within a round). A packet that the round has
 * already begins the next round.
 */
void round_take(struct rd_analysis *a, struct flow *f, struct trouble *t, const struct item *it,
	uint32_t span);

/* New data follows: the round, if there is one, has ended. */
void round_end(struct rd_analysis *a, struct flow *f, struct trouble *t);

/* --- messages that rounds delay --- */

/* A packet was retransmitted: counts its message, once, if it is the last packet of it. */
void delayed_packet(struct rd_analysis *a, struct flow *f, struct trouble *t, const struct item *it,
	uint32_t span);
/* The packet before PSN `end`, the only one of its round, was not a retransmission. */
void delayed_take_back(struct flow *f, struct trouble *t, uint32_t end);
/* Messages of which the last packet was captured. */
uint64_t messages_of(const struct flow *f);

/* --- which timer the waits before them show (timer.c) ----------------------------------- */

#define WAITS 24 /* a ConnectX repeats up to 11 times adaptively, and then 7 times */

/* Microseconds before each of successive rounds from a PSN that no NAK caused. */
struct waits {
	uint8_t n;
	uint32_t us[WAITS];
};

enum { WAITS_NOW, WAITS_MOST, WAITS_KINDS };

/* UINT32_MAX: or longer. */
uint32_t wait_us(uint64_t ns);
/* All zero: no schedule that is known explains them. */
struct rd_timer waits_explain(const struct waits *w);
