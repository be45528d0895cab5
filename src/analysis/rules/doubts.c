/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rules over one side rest on beside the packets that are there, and when it is doubtful. */
#include "look.h"

/* A doubt of several rules. */
#define FOR_ALL(name, why, test) DOUBT_OF(, name, RD_POSSIBLE, why, test)

/* --- what the file lacks ---------------------------------------------------------------------- */

FOR_ALL(CAPTURE_LOST, "the capture lost frames", capture_lost_frames(l->r))

FOR_ALL(UNDECLARED, "no file says that its capture lost nothing", !capture_is_whole(l->r))

FOR_ALL(ONE_WAY, "only one direction was captured", !l->other->seen)

/*
 * Frames that the analysis treated as damaged, in a file whose ICRCs turned out to mean nothing:
 * they were valid, and are missing from the analysis.
 */
FOR_ALL(CUT, "headers are missing: NAKs or lengths may be among them",
	count(l, RD_INC_CUT) || theirs(l, RD_INC_CUT) ||
		(l->r->totals.icrc_doubted &&
			(l->a->icrc_lost.count || count(l, RD_INC_ICRC) || theirs(l, RD_INC_ICRC))))

static uint64_t missed(const struct look *l)
{
	return count(l, RD_INC_UNSEEN) + count(l, RD_INC_RESPONSE_UNSEEN);
}

/*
 * A packet that was not captured may have been missed by the capture: it says when it was, a mirror
 * port does not, but ACKs for packets that it missed show it.
 */
FOR_ALL(MISSED, "the capture missed packets of this QP pair", missed(l))

/* So many that all of one kind may be missing. */
FOR_ALL(MISSED_MANY, "the capture missed a sixteenth of the packets",
	missed(l) * 16 > l->s->traffic.frames + l->other->traffic.frames)

#define RARE 16 /* one in so many */

/* The pair's part of the frames that the capture missed. */
static double missed_of_pair(const struct look *l)
{
	double part = (double)(l->s->traffic.frames + l->other->traffic.frames) /
		      (double)l->r->totals.rdma_frames;

	return (double)l->missed * part;
}
/* That frames were not on the wire here does not follow from the file. */
FOR_ALL(ABSENCE, "the capture missed packets, which may be of this QP pair",
	missed_of_pair(l) * RARE > (double)l->f->evidence.count)

FOR_ALL(BEFORE, "packets were sent before the capture began", count(l, RD_INC_FROM_BEFORE))

FOR_ALL(ONCE, "it happened once", l->f->evidence.count == 1)

#define COARSE_NS 100000U /* steps of a clock by which a timer may fire */

/* Whether microseconds are less than the steps of the capture's clock. */
bool is_clock_coarse(const struct rd_report *r)
{
	return !r->totals.step_ns || r->totals.step_ns > COARSE_NS;
}

FOR_ALL(COARSE_CLOCK, "the capture's clock has coarse steps", is_clock_coarse(l->r))

FOR_ALL(SHARED, "another network has the same addresses and QPs", l->s->shared || l->other->shared)

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
FOR_ALL(DISORDERED, "frames may be in another order than on the wire", is_disordered(l))

/* Some rounds may be copies, and some copies retransmissions. */
FOR_ALL(TIMED_COPIES, "without IP identifications, a copy looks like a retransmission",
	l->s->unclear.copies_timed)

/* Whether packets of this pair overtake others, on the way or as they are captured. */
FOR_ALL(REORDERED, "packets of this QP pair overtake each other",
	count(l, RD_INC_REORDERED) || count(l, RD_INC_RESPONSE_REORDERED) ||
		theirs(l, RD_INC_REORDERED) || theirs(l, RD_INC_RESPONSE_REORDERED))

#define PATHS_MAX 256 /* conversations among which others of the path are searched */

/* Whether both hosts are those of `l`. */
static bool is_between(const struct look *l, const struct rd_conversation *c)
{
	const int from = !strcmp(c->end[1].address, l->from->address);

	return !strcmp(c->end[from].address, l->from->address) &&
	       !strcmp(c->end[!from].address, l->to->address);
}

/* Whether a side has this, of a QP pair of these two hosts. */
static bool any_between_hosts(const struct look *l, bool (*has)(const struct rd_side *s))
{
	return RD_ANY(c, l->r->conversations, RD_MIN(l->r->n_conversations, PATHS_MAX),
		is_between(l, c) && (has(&c->side[0]) || has(&c->side[1])));
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
FOR_ALL(PATHS, "packets between these hosts overtake each other beyond this point",
	is_reordered(l->s) || is_reordered(l->other) || any_between_hosts(l, is_reordered))

#define LATE_MANY 8 /* late packets that are hardly all retransmissions */

static bool has_many_late(const struct rd_side *s)
{
	return rd_side_incident(s, RD_INC_REORDERED)->count >= LATE_MANY;
}

/* Unless IP identifications count what this sender sent. */
FOR_ALL(HOSTS_LATE, "packets of these hosts come late here: a late one looks retransmitted",
	l->s->unclear.late > 0 && any_between_hosts(l, has_many_late))

static bool has_copies(const struct rd_side *s)
{
	return rd_side_incident(s, RD_INC_DUPLICATED)->count ||
	       rd_side_incident(s, RD_INC_RESPONSE_DUPLICATED)->count;
}

/* What makes copies makes them of any QP; IP identifications tell them from retransmissions. */
FOR_ALL(HOST_COPIES, "frames of these hosts are captured twice: a copy looks retransmitted",
	!l->s->identified && any_between_hosts(l, has_copies))

#define TIMER_NS UINT64_C(8192) /* the shortest of IBTA volume 1, 9.9.1: 4.096 us * 2^1 */
#define COPY_NS	 UINT64_C(1000000)

/* Whether frames without IP identifications came twice, or all requests again before any timer. */
static bool may_have_copies(const struct rd_side *s)
{
	return has_copies(s) || (!s->identified && is_all_again(s) &&
					rd_side_incident(s, RD_INC_ROUND_TIMEOUT)->count &&
					rd_side_latency(s, RD_LATENCY_TIMEOUT)->p50 < COPY_NS);
}

/* Of ACKs and CNPs without an identification. */
DOUBT_OF(, COUNTED_TWICE, RD_LIKELY, "frames of these hosts may be captured twice: copies count",
	!l->other->counted_once && any_between_hosts(l, may_have_copies))

/*
 * Whether the file may have each packet twice, from two points: then which one is a retransmission
 * is not known. NAKs show it: a receiver sends one, and the sender goes back once for it.
 */
FOR_ALL(EACH_TWICE, "the file may have each packet twice",
	count(l, RD_INC_NAK_SEQUENCE) > 1 &&
		count(l, RD_INC_NAK_SEQUENCE) * 2 >= count(l, RD_INC_ROUND_NAK) * 3 &&
		is_all_again(l->s))

/* --- retransmissions -------------------------------------------------------------------------- */

/*
 * Whether a mirror's copies may be what looks like retransmissions: sooner than any timer, or soon
 * and of one or two packets each, while no IP identification tells them apart.
 */
FOR_ALL(NO_TIMER, "it is sooner than timers: they may be copies",
	latency(l, RD_LATENCY_TIMEOUT)->p50 < TIMER_NS ||
		(!l->s->identified && latency(l, RD_LATENCY_TIMEOUT)->p50 < COPY_NS &&
			count(l, RD_INC_RETRANSMITTED) <= 2 * rounds(l)))

#define ROUNDS_REUSED 8 /* that the packets of a new connection may seem to be */

/*
 * Whether another connection may have used the PSNs of this one: what looks like a retransmission
 * is then new. A capture that has the CM's messages, or was started before the QP was created,
 * would show it.
 */
FOR_ALL(REUSED, "another connection may have used the same PSNs",
	rounds(l) <= ROUNDS_REUSED * (l->s->unclear.again + count(l, RD_INC_RESTART) +
					     theirs(l, RD_INC_RESTART)))

/*
 * A receiver that is not ready discards what follows, and may request it later; when it does, the
 * packets of the round after its RNR NAK may be on their way.
 */
FOR_ALL(DISCARDED, "a receiver that is not ready discards packets, too",
	count(l, RD_INC_RNR) >= l->f->evidence.count)

/* Whether the receiver refused a request with a NAK that ends the QP. */
bool is_refused(const struct look *l)
{
	return count(l, RD_INC_NAK_ACCESS) || count(l, RD_INC_NAK_INVALID) ||
	       count(l, RD_INC_NAK_OPERATIONAL);
}
FOR_ALL(REFUSED, "a request was refused", is_refused(l))

FOR_ALL(LACKS_EARLIER,
	"packets before these are missing here: a receiver responds to none after them",
	l->s->end.lacks)

/*
 * Responses may have taken another way since then, or the capture lost them. One that missed frames
 * may have missed two responses of a sender that gave up, hardly three.
 */
bool are_few_rounds(const struct look *l)
{
	return l->s->end.attempts < (l->s->end.how == RD_ENDING_RETRY && !l->missed ? 2 : 3);
}
