/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Applies the responses of a flow to the requests of its peer (acknowledge.c). */
#pragma once

#include "state.h"

#define FAR (1 << 20) /* packets: larger than any window; the PSN belongs to other requests */

/* All requests before `upto` are acknowledged. False: impossible for this flow. */
bool acknowledge(struct rd_analysis *a, struct flow *r, uint32_t upto, uint64_t ns);

/* The requester goes on with the rest of a READ, from `psn` (read_is_rest()). */
void acknowledge_rest(struct rd_analysis *a, struct flow *r, uint32_t psn, uint64_t ns);
/* A READ or atomic response is missing: the requester drops those after it. */
void gap_begin(struct rd_analysis *a, struct flow *r, uint32_t psn);
/* Another one is missing, while it is not known whether the first one is requested again. */
void gap_more(const struct rd_analysis *a, struct flow *r);
/*
 * A response after a missing one. If the requester does not retransmit, it received that one, and
 * the capture missed it.
 */
void gap_passed(struct rd_analysis *a, struct flow *r);

/*
 * Shortest time from a request to its first response; UINT64_MAX: unknown. *n: how many responses
 * were measured.
 */
uint64_t shortest_response(const struct flow *r, uint64_t *n);

/* The response to what the last round repeats was on its way when that began. */
void round_crossed(struct rd_analysis *a, struct flow *f);

/* The shortest of such times, plus 1; 0: none yet. */
static inline void shortest(uint32_t *least, uint64_t from, uint64_t to)
{
	if (to >= from && to - from < UINT32_MAX && (!*least || to - from < *least))
		*least = (uint32_t)(to - from + 1);
}

/* A response of any kind: the receiver is alive. */
static inline void responded(const struct rd_analysis *a, struct flow *r)
{
	r->round.attempts = 0;
	if (!r->ack.end_nak)
		r->ack.end_frame = a->frame;
}

/* Responses of RC and XRC (response.c). */
void response_rc(struct rd_analysis *a, struct flow *f, const struct item *it);

/*
 * A NAK p (nak.c) in flow `f` to the requests of flow `r`, which may be NULL; `value`: the code in
 * its syndrome.
 */
void nak_take(struct rd_analysis *a, struct flow *f, struct flow *r, const struct rd_packet *p,
	unsigned int value);
/* The same for an RNR NAK; `value`: the timer in its syndrome. */
void nak_not_ready(struct rd_analysis *a, struct flow *f, struct flow *r, const struct rd_packet *p,
	unsigned int value);
