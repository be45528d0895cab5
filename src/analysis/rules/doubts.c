/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rules over one side rest on beside the packets that are there, and when it is doubtful. */
#include "look.h"

/* --- what the file lacks ---------------------------------------------------------------------- */

bool lost_frames(const struct look *l)
{
	return capture_lost_frames(l->r);
}

bool is_undeclared(const struct look *l)
{
	return !capture_is_whole(l->r);
}

bool is_one_way(const struct look *l)
{
	return !l->other->seen;
}

/*
 * Frames that the analysis treated as damaged, in a file whose ICRCs turned out to mean nothing:
 * they were valid, and are missing from the analysis.
 */
static bool has_dropped_frames(const struct look *l)
{
	return l->r->totals.icrc_doubted &&
	       (l->a->icrc_lost.count || count(l, RD_INC_ICRC) || theirs(l, RD_INC_ICRC));
}

bool has_cut_headers(const struct look *l)
{
	return count(l, RD_INC_CUT) || theirs(l, RD_INC_CUT) || has_dropped_frames(l);
}

/*
 * A packet that was not captured may have been missed by the capture: it says when it was, a mirror
 * port does not, but ACKs for packets that it missed show it.
 */
bool has_missed(const struct look *l)
{
	return count(l, RD_INC_UNSEEN) || count(l, RD_INC_RESPONSE_UNSEEN);
}

#define MISSED_PART 16

bool has_missed_many(const struct look *l)
{
	uint64_t missed = count(l, RD_INC_UNSEEN) + count(l, RD_INC_RESPONSE_UNSEEN);

	return missed * MISSED_PART > l->s->traffic.frames + l->other->traffic.frames;
}

#define RARE 16 /* one in so many */

/* Whether the pair's part of the frames that the capture missed may explain the finding. */
bool may_lack_frames(const struct look *l)
{
	double part = (double)(l->s->traffic.frames + l->other->traffic.frames) /
		      (double)l->r->totals.rdma_frames;

	return (double)l->missed * part * RARE > (double)l->f->evidence.count;
}

bool began_before(const struct look *l)
{
	return count(l, RD_INC_FROM_BEFORE);
}

bool is_once(const struct look *l)
{
	return l->f->evidence.count == 1;
}

#define COARSE_NS 100000U /* steps of a clock by which a timer may fire */

/* Whether microseconds are less than the steps of the capture's clock. */
bool is_clock_coarse(const struct rd_report *r)
{
	return !r->totals.step_ns || r->totals.step_ns > COARSE_NS;
}

bool has_coarse_clock(const struct look *l)
{
	return is_clock_coarse(l->r);
}

bool is_shared(const struct look *l)
{
	return l->s->shared || l->other->shared;
}

/* --- order and copies ------------------------------------------------------------------------- */

/*
 * Frames that are not in the order of their timestamps, or requests that follow their ACKs (a
 * capture that merges several queues), or frames from several places (a bond that fails over to its
 * other port). Frames of one conversation in several VLANs are copies made by routing, or frames of
 * other hosts.
 */
bool is_disordered(const struct look *l)
{
	const struct rd_totals *t = &l->r->totals;

	return t->backwards || t->moved || t->behind_ack || l->s->vlans_differ ||
	       l->other->vlans_differ || l->a->config.may_be_ends;
}

/* Some rounds may be copies, and some copies retransmissions. */
bool has_timed_copies(const struct look *l)
{
	return l->s->unclear.copies_timed;
}

/* Whether packets of this pair overtake others, on the way or as they are captured. */
bool is_overtaken(const struct look *l)
{
	return count(l, RD_INC_REORDERED) || count(l, RD_INC_RESPONSE_REORDERED) ||
	       theirs(l, RD_INC_REORDERED) || theirs(l, RD_INC_RESPONSE_REORDERED);
}

#define PATHS_MAX 256 /* conversations among which others of the path are searched */

static bool is_between(const struct rd_conversation *c, const char *a, const char *b)
{
	return !strcmp(c->end[0].address, a) && !strcmp(c->end[1].address, b);
}

/* Whether a side has this, of a QP pair of these two hosts. */
static bool any_between_hosts(const struct look *l, bool (*has)(const struct rd_side *s))
{
	const char *from = l->from->address, *to = l->to->address;

	for (size_t i = 0; i < l->r->n_conversations && i < PATHS_MAX; i++) {
		const struct rd_conversation *c = &l->r->conversations[i];

		if ((is_between(c, from, to) || is_between(c, to, from)) &&
			(has(&c->side[0]) || has(&c->side[1])))
			return true;
	}
	return false;
}

/* Whether what this side sends, or what it gets back, is reordered beyond the capture point. */
static bool is_reordered(const struct rd_side *s)
{
	return s->unclear.naks_late || rd_side_incident(s, RD_INC_REORDERED_DOWNSTREAM)->count > 1;
}

/*
 * A network that sends packets of one QP by several paths does so with all between two hosts, and
 * their receivers take late ones for lost.
 */
bool has_several_paths(const struct look *l)
{
	return is_reordered(l->s) || is_reordered(l->other) || any_between_hosts(l, is_reordered);
}

#define LATE_MANY 8 /* late packets that are hardly all retransmissions */

static bool has_many_late(const struct rd_side *s)
{
	return rd_side_incident(s, RD_INC_REORDERED)->count >= LATE_MANY;
}

/* Unless IP identifications count what this sender sent. */
bool has_late_packets(const struct look *l)
{
	return l->s->unclear.late && any_between_hosts(l, has_many_late);
}

static bool has_copies(const struct rd_side *s)
{
	return rd_side_incident(s, RD_INC_DUPLICATED)->count ||
	       rd_side_incident(s, RD_INC_RESPONSE_DUPLICATED)->count;
}

/* What makes copies makes them of any QP; IP identifications tell them from retransmissions. */
bool has_host_copies(const struct look *l)
{
	return !l->s->identified && any_between_hosts(l, has_copies);
}

/*
 * Whether the file may have each packet twice, from two points: then which one is a retransmission
 * is not known. NAKs show it: a receiver sends one, and the sender goes back once for it.
 */
bool may_be_each_twice(const struct look *l)
{
	uint64_t naks = count(l, RD_INC_NAK_SEQUENCE);

	return naks > 1 && naks * 2 >= count(l, RD_INC_ROUND_NAK) * 3 && is_all_again(l);
}

/* --- retransmissions -------------------------------------------------------------------------- */

#define TIMER_NS UINT64_C(8192) /* the shortest of IBTA volume 1, 9.9.1: 4.096 us * 2^1 */
#define COPY_NS	 UINT64_C(1000000)

/*
 * Whether a mirror's copies may be what looks like retransmissions: sooner than any timer, or soon
 * and of one or two packets each, while no IP identification tells them apart.
 */
bool may_be_no_timer(const struct look *l)
{
	uint64_t waited = latency(l, RD_LATENCY_TIMEOUT)->p50;

	return waited < TIMER_NS || (!l->s->identified && waited < COPY_NS &&
					    count(l, RD_INC_RETRANSMITTED) <= 2 * rounds(l));
}

#define ROUNDS_REUSED 8 /* that the packets of a new connection may seem to be */

/*
 * Whether another connection may have used the PSNs of this one: what looks like a retransmission
 * is then new. A capture that has the CM's messages, or was started before the QP was created,
 * would show it.
 */
bool may_be_reused(const struct look *l)
{
	uint64_t restarts =
		l->s->unclear.again + count(l, RD_INC_RESTART) + theirs(l, RD_INC_RESTART);

	return rounds(l) <= ROUNDS_REUSED * restarts;
}

/*
 * A receiver that is not ready discards what follows, and may request it later; when it does, the
 * packets of the round after its RNR NAK may be on their way.
 */
bool may_be_discarded(const struct look *l)
{
	return count(l, RD_INC_RNR) >= l->f->evidence.count;
}

/* Whether the receiver refused a request with a NAK that ends the QP. */
bool is_refused(const struct look *l)
{
	return count(l, RD_INC_NAK_ACCESS) || count(l, RD_INC_NAK_INVALID) ||
	       count(l, RD_INC_NAK_OPERATIONAL);
}

bool lacks_earlier(const struct look *l)
{
	return l->s->end.lacks;
}

/*
 * Responses may have taken another way since then, or the capture lost them. One that missed frames
 * may have missed two responses of a sender that gave up, hardly three.
 */
bool are_few_rounds(const struct look *l)
{
	return l->s->end.attempts < (l->s->end.how == RD_ENDING_RETRY && !l->missed ? 2 : 3);
}
