/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries about one side of a conversation, for rules. */
#pragma once

#include "rules.h"

/* Of the elements for which `test` holds, that after as many as the rule has findings so far. */
#define NTH(it, look, array, n, test)                                                              \
	({                                                                                         \
		unsigned int it##_before = (look)->nth;                                            \
                                                                                                   \
		RD_FIND(it, array, n, (test) && !it##_before--);                                   \
	})

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

static inline uint64_t copies_of(const struct look *l)
{
	return count(l, RD_INC_DUPLICATED) + count(l, RD_INC_RESPONSE_DUPLICATED);
}

/* Whether at least half of the requests are repeated, which loss hardly explains. */
static inline bool is_all_again(const struct rd_side *s)
{
	return rd_side_incident(s, RD_INC_RETRANSMITTED)->count * 2 >= s->requests;
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

#define WAITED_LEN 256

/*
 * "after 43 ms": how long the sender waited before so many rounds, or also before others without a
 * NAK, and what the CM agreed on. "at once": no wait is known (timeouts.c).
 */
const char *waited_text(
	char buf[WAITED_LEN], const struct look *l, enum rd_latency_kind kind, uint64_t rounds);

#define TIMER_LEN 256
/* Which timer the rounds without a response fit; "": none, or unknown (timeouts.c). */
const char *timer_text(char buf[TIMER_LEN], const struct look *l);

/* Whether requests were retransmitted although their responses had arrived (facts.c). */
bool responses_arrived(const struct look *l);
/* Whether the capture may lack only frames in the other direction (missed.c). */
bool may_have_other_half(const struct look *l);
/* Whether no frame of the other direction was captured, of any QP of both addresses (missed.c). */
bool is_one_direction(const struct look *l);

/* --- doubts of several rules: what the file itself shows of what it may lack (doubts.c) ------- */

/* Whether frames of a file are not in the order of the wire, or from several places. */
bool is_disordered(const struct look *l);
bool is_refused(const struct look *l), are_few_rounds(const struct look *l);
bool is_sooner(const struct look *l); /* rounds without a NAK, than responses come (timeouts.c) */

extern const struct doubt CAPTURE_LOST[1], UNDECLARED[1], ONE_WAY[1], CUT[1], MISSED[1],
	MISSED_MANY[1], ABSENCE[1], BEFORE[1], ONCE[1], COARSE_CLOCK[1], SHARED[1], DISORDERED[1],
	TIMED_COPIES[1], REORDERED[1], PATHS[1], HOSTS_LATE[1], HOST_COPIES[1], EACH_TWICE[1],
	NO_TIMER[1], REUSED[1], DISCARDED[1], REFUSED[1], LACKS_EARLIER[1], COUNTED_TWICE[1];

/* What makes it incomplete, of this QP pair. */
#define INCOMPLETE CAPTURE_LOST, DISORDERED, ONE_WAY, CUT, TIMED_COPIES, MISSED
/* That the file has the frames in the order of sending. */
#define NO_ORDER DISORDERED, REORDERED
