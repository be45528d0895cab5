/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries about one side of a conversation, for rules. */
#ifndef RDMADUMP_ANALYSIS_LOOK_H
#define RDMADUMP_ANALYSIS_LOOK_H

#include "rules.h"

static inline bool is_rc(const struct look *l)
{
	return l->c->transport == RD_RC || l->c->transport == RD_XRC;
}

static inline const struct rd_incident *incident(const struct look *l, enum rd_incident_kind kind)
{
	return rd_side_incident(l->s, kind);
}

static inline uint64_t count(const struct look *l, enum rd_incident_kind kind)
{
	return incident(l, kind)->count;
}

/* The same of the other side. */
static inline uint64_t theirs(const struct look *l, enum rd_incident_kind kind)
{
	return rd_side_incident(l->other, kind)->count;
}

static inline const struct rd_latency *latency(const struct look *l, enum rd_latency_kind kind)
{
	return rd_side_latency(l->s, kind);
}

static inline uint64_t rounds(const struct look *l)
{
	return count(l, RD_INC_ROUND_NAK) + count(l, RD_INC_ROUND_RNR) +
	       count(l, RD_INC_ROUND_READ) + count(l, RD_INC_ROUND_TIMEOUT);
}

/* Whether at least half of the requests are repeated, which loss hardly explains. */
static inline bool is_all_again(const struct look *l)
{
	return count(l, RD_INC_RETRANSMITTED) * 2 >= l->s->requests;
}

/* Out of so many, those that are not of a part. */
static inline uint64_t without(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* Packets that the receiver requested again, though they were captured. */
static inline uint64_t denied(const struct look *l)
{
	return count(l, RD_INC_LOST_DOWNSTREAM) + count(l, RD_INC_REORDERED_DOWNSTREAM);
}

/* NAKs for packets that were absent here, too. */
static inline uint64_t naks_for_gaps(const struct look *l)
{
	return without(count(l, RD_INC_NAK_SEQUENCE), denied(l));
}

/*
 * Gaps for which no NAK was captured. A receiver sends one for each, unless only the capture has
 * the gap, or it waits for another packet: after a NAK, or after an RNR NAK, where the sender
 * repeats all packets anyway. Where single packets are repeated the receiver takes others out of
 * order: then each gap counts as it was sent.
 */
static inline uint64_t gaps_without_nak(const struct look *l)
{
	uint64_t gaps = count(l, RD_INC_GAP);

	if (count(l, RD_INC_SELECTIVE) * 2 < rounds(l))
		gaps = without(
			count(l, RD_INC_AT_RECEIVER_SEQUENCE), denied(l) + count(l, RD_INC_RNR));
	return without(gaps, naks_for_gaps(l));
}

static inline bool has_responses(const struct look *l)
{
	return l->s->responded || theirs(l, RD_INC_CUT);
}

/* A sender whose rounds begin at different PSNs gets responses, captured or not. */
static inline bool made_progress(const struct look *l)
{
	return rounds(l) > l->s->end.attempts;
}

/* Different request packets, with those that were lost before they were captured. */
static inline uint64_t distinct(const struct look *l)
{
	uint64_t again = count(l, RD_INC_RETRANSMITTED) + count(l, RD_INC_DUPLICATED);

	return l->s->requests - (again < l->s->requests ? again : 0) +
	       count(l, RD_INC_LOST_UPSTREAM);
}

#define WAITED_LEN 256

/*
 * "after 43 ms": how long the sender waited before so many rounds, or also before others without a
 * NAK, and what the CM agreed on. "at once": no wait is known (timeouts.c).
 */
const char *waited_text(
	char buf[WAITED_LEN], const struct look *l, enum rd_latency_kind kind, uint64_t rounds);

/* Whether requests were retransmitted although their responses had arrived (facts.c). */
bool responses_arrived(const struct look *l);
/* Whether the capture may lack only frames in the other direction (missed.c). */
bool may_have_other_half(const struct look *l);
/* Whether no frame in the other direction between both addresses was captured, of any QP
 * (missed.c). */
bool is_one_direction(const struct look *l);

#endif
