/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries about one side of a conversation, for rules. */
#pragma once

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

static inline uint64_t copies_of(const struct look *l)
{
	return count(l, RD_INC_DUPLICATED) + count(l, RD_INC_RESPONSE_DUPLICATED);
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
/* Whether no frame in the other direction between both addresses was captured, of any QP
 * (missed.c). */
bool is_one_direction(const struct look *l);

/* --- doubts of several rules: what the file itself shows of what it may lack (doubts.c) ------- */

/* Whether frames of a file are not in the order of the wire, or from several places. */
bool is_disordered(const struct look *l);
/* Whether the capture lacks so many frames of this QP pair that all of one kind may be missing. */
bool has_missed_many(const struct look *l);
bool has_cut_headers(const struct look *l);

bool lost_frames(const struct look *l), is_one_way(const struct look *l),
	has_timed_copies(const struct look *l), has_missed(const struct look *l),
	may_lack_frames(const struct look *l), is_overtaken(const struct look *l),
	has_several_paths(const struct look *l), has_late_packets(const struct look *l),
	has_host_copies(const struct look *l), may_be_no_timer(const struct look *l),
	is_once(const struct look *l), may_be_reused(const struct look *l),
	may_be_each_twice(const struct look *l), may_be_discarded(const struct look *l),
	is_refused(const struct look *l), has_coarse_clock(const struct look *l),
	began_before(const struct look *l), is_undeclared(const struct look *l),
	is_shared(const struct look *l), lacks_earlier(const struct look *l),
	are_few_rounds(const struct look *l);

#define LACKS_EARLIER                                                                              \
	IF(lacks_earlier,                                                                          \
		"packets before these are missing here: a receiver responds to none after them")
#define CAPTURE_LOST IF(lost_frames, "the capture lost frames")
#define DISORDERED   IF(is_disordered, "frames may be in another order than on the wire")
#define ONE_WAY	     IF(is_one_way, "only one direction was captured")
#define CUT	     IF(has_cut_headers, "headers are missing: NAKs or lengths may be among them")
#define TIMED_COPIES                                                                               \
	IF(has_timed_copies, "without IP identifications, a copy looks like a retransmission")
#define MISSED	    IF(has_missed, "the capture missed packets of this QP pair")
#define MISSED_MANY IF(has_missed_many, "the capture missed a sixteenth of the packets")
/* What makes it incomplete, of this QP pair. */
#define INCOMPLETE CAPTURE_LOST, DISORDERED, ONE_WAY, CUT, TIMED_COPIES, MISSED

/* That frames were not on the wire here, as they are not in the file. */
#define ABSENCE IF(may_lack_frames, "the capture missed packets, which may be of this QP pair")
/* That the file has the frames in the order of sending. */
#define NO_ORDER DISORDERED, IF(is_overtaken, "packets of this QP pair overtake each other")
/* That packets arrive at the other host in the order of sending. */
#define PATHS                                                                                      \
	IF(has_several_paths, "packets between these hosts overtake each other beyond this point")
/* That a packet after later ones was sent after them. */
#define HOSTS_LATE                                                                                 \
	IF(has_late_packets,                                                                       \
		"packets of these hosts come late here: a late one looks retransmitted")
/* That a packet is in the file as often as it was sent. */
#define HOST_COPIES                                                                                \
	IF(has_host_copies, "frames of these hosts are captured twice: a copy looks "              \
			    "retransmitted")
/* That a sender waited before it sent a packet again. */
#define NO_TIMER IF(may_be_no_timer, "it is sooner than timers: they may be copies")

#define ONCE	     IF(is_once, "it happened once")
#define REUSED	     IF(may_be_reused, "another connection may have used the same PSNs")
#define EACH_TWICE   IF(may_be_each_twice, "the file may have each packet twice")
#define DISCARDED    IF(may_be_discarded, "a receiver that is not ready discards packets, too")
#define REFUSED	     IF(is_refused, "a request was refused")
#define COARSE_CLOCK IF(has_coarse_clock, "the capture's clock has coarse steps")
#define BEFORE	     IF(began_before, "packets were sent before the capture began")
#define UNDECLARED   IF(is_undeclared, "no file says that its capture lost nothing")
#define SHARED	     IF(is_shared, "another network has the same addresses and QPs")
