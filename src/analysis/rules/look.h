/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries about one side of a conversation, for rules; and the display filters of its findings. */
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

static inline const struct rd_latency *latency(const struct look *l, enum rd_latency_kind kind)
{
	return rd_side_latency(l->s, kind);
}

/* The requests of this side; no filter if the destination QP is unknown. */
static inline void filter_requests(const struct look *l, struct rd_finding *f)
{
	uint64_t first = f->evidence.n_frames ? f->evidence.frames[0] : 0;

	if (l->to->qp != RD_QP_UNKNOWN)
		rd_finding_filter(f, first > 20 ? first - 20 : 0, "infiniband.bth.destqp == 0x%06x",
			l->to->qp);
}

static inline void filter_responses(const struct look *l, struct rd_finding *f, const char *what)
{
	if (l->from->qp != RD_QP_UNKNOWN)
		rd_finding_filter(f, 0, "infiniband.bth.destqp == 0x%06x && %s", l->from->qp, what);
	else
		rd_finding_filter(f, 0, "%s", what);
}

static inline uint64_t rounds(const struct look *l)
{
	return count(l, RD_INC_ROUND_NAK) + count(l, RD_INC_ROUND_RNR) +
	       count(l, RD_INC_ROUND_READ) + count(l, RD_INC_ROUND_TIMEOUT);
}

/* The rounds at the end, in which a sender retransmits requests and no longer gets a response. */
static inline uint64_t last_rounds(const struct look *l)
{
	bool stopped = l->s->ending == RD_ENDING_RETRY || l->s->ending == RD_ENDING_STOPPED;

	return stopped ? l->s->attempts : 0;
}

/*
 * Frames that the analysis treated as damaged, in a file whose ICRCs turned out to mean nothing:
 * they were valid, and are missing from the analysis.
 */
static inline bool has_dropped_frames(const struct look *l)
{
	return l->r->totals.icrc_doubted && (l->a->icrc_lost.count || count(l, RD_INC_ICRC) ||
						    rd_side_incident(l->other, RD_INC_ICRC)->count);
}

/* Whether headers may be missing from the file: they may be NAKs, or lengths of READs. */
static inline bool has_cut_headers(const struct look *l)
{
	return count(l, RD_INC_CUT) || rd_side_incident(l->other, RD_INC_CUT)->count ||
	       has_dropped_frames(l);
}

/* Copies without identifications: some rounds may be copies, and some copies retransmissions. */
static inline bool has_doubtful_copies(const struct look *l)
{
	return l->s->copies_timed;
}

/* Whether at least half of the requests are repeated, which loss hardly explains. */
static inline bool is_all_again(const struct look *l)
{
	return count(l, RD_INC_RETRANSMITTED) * 2 >= l->s->requests;
}

/*
 * Frames of one conversation in several VLANs are copies made by routing, or frames of other hosts.
 */
static inline bool has_several_vlans(const struct look *l)
{
	return l->s->vlans_differ || l->other->vlans_differ;
}

/* Whether the receiver refused a request with a NAK that ends the QP. */
static inline bool is_refused(const struct look *l)
{
	return count(l, RD_INC_NAK_ACCESS) || count(l, RD_INC_NAK_INVALID) ||
	       count(l, RD_INC_NAK_OPERATIONAL);
}

#define ROUNDS_REUSED 8 /* that the packets of a new connection may seem to be */

/*
 * Whether another connection may have used the PSNs of this one: what looks like a retransmission
 * is then new. A capture that has the CM's messages, or was started before the QP was created,
 * would show it.
 */
static inline bool may_be_reused(const struct look *l)
{
	uint64_t restarts = l->s->again_doubtful + count(l, RD_INC_RESTART) +
			    rd_side_incident(l->other, RD_INC_RESTART)->count;

	return rounds(l) <= ROUNDS_REUSED * restarts;
}

#define MISSED_PART 16

/*
 * Whether the capture lacks so many frames of this conversation that all frames of one kind may be
 * missing.
 */
static inline bool has_missed_many(const struct look *l)
{
	uint64_t missed = count(l, RD_INC_UNSEEN) + count(l, RD_INC_RESPONSE_UNSEEN);

	return missed * MISSED_PART > l->s->frames + l->other->frames;
}

/*
 * Whether frames are not in the order of their timestamps or requests follow their ACKs (a capture
 * that merges several queues), or frames are from several places (a bond that fails over to its
 * other port).
 */
static inline bool is_disordered(const struct look *l)
{
	return l->r->totals.backwards || l->r->totals.moved || l->r->totals.behind_ack ||
	       has_several_vlans(l);
}

/*
 * Whether the capture may lack frames of this conversation that were on the wire here, or may have
 * them in another order.
 */
static inline bool is_incomplete(const struct look *l)
{
	return is_disordered(l) || capture_lost_frames(l->r) || !l->other->seen ||
	       has_cut_headers(l) || has_doubtful_copies(l) || count(l, RD_INC_UNSEEN) ||
	       count(l, RD_INC_RESPONSE_UNSEEN);
}

#define COARSE_NS 100000U /* steps of a clock by which a timer may fire */

/* Whether microseconds are less than the steps of the capture's clock. */
static inline bool has_coarse_clock(const struct rd_report *r)
{
	return !r->totals.step_ns || r->totals.step_ns > COARSE_NS;
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

/* Packets that came late, here or downstream of this point. */
static inline uint64_t late_packets(const struct look *l)
{
	return count(l, RD_INC_REORDERED) + count(l, RD_INC_REORDERED_DOWNSTREAM);
}

/*
 * A receiver that is not ready discards what follows, and may request it later; when it does, the
 * packets of the round after its RNR NAK may be on their way.
 */
static inline bool may_be_discarded(const struct look *l, const struct rd_finding *f)
{
	return count(l, RD_INC_RNR) >= f->evidence.count;
}

static inline bool has_responses(const struct look *l)
{
	return l->s->responded || rd_side_incident(l->other, RD_INC_CUT)->count;
}

#define WAITED_LEN 256

/*
 * "after 43 ms": how long the sender waited before so many rounds, or also before others without a
 * NAK, and what the CM agreed on. "at once": no wait is known.
 */
const char *waited_text(
	char buf[WAITED_LEN], const struct look *l, enum rd_latency_kind kind, uint64_t rounds);

#define RATES_LEN 200

/* "; its rate here: ... before, ... at the lowest after"; "": unknown (congestion.c). */
const char *rates_text(char buf[RATES_LEN], const struct look *l);

/* A sender whose rounds begin at different PSNs gets responses, captured or not. */
static inline bool made_progress(const struct look *l)
{
	return rounds(l) > l->s->attempts;
}

/* Whether requests were retransmitted although their responses had arrived (facts.c). */
bool responses_arrived(const struct look *l);

/* Whether the capture may lack only frames in the other direction (missed.c). */
bool may_have_other_half(const struct look *l);
/* Whether no frame in the other direction between both addresses was captured, of any QP
 * (missed.c).
 */
bool is_one_direction(const struct look *l);

#endif
