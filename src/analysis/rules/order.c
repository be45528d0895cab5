/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over one side of a conversation: packets that are reordered or duplicated. */
#include "look.h"

#define FEW_COPIES 8 /* more of them may be those of a mirror */
#define LATE_RUN   8 /* packets that a receiver misses at once, and requests with one NAK */

/* Where the packets of one QP take several paths, by what tells the paths apart. */
static const char *paths(const struct look *l, bool refused)
{
	if (l->s->unclear.ports_differ)
		return "the sender gives packets of this QP several UDP source ports, so that they "
		       "take several paths";
	if (refused)
		return "switches send packets of this QP over several paths although its UDP "
		       "source port is the same (a LAG or ECMP that does not hash by flow, "
		       "adaptive routing), and the receiver takes none out of order; or the "
		       "capture merges several queues out of order";
	return "switches send packets of this QP over several paths although its UDP source port "
	       "is the same (adaptive routing, packet spraying), and the receiver takes them out "
	       "of order; or the capture merges several queues out of order";
}

/* Copies that a mirror makes of every packet may be late, too. */
static bool may_be_late_copies(const struct look *l)
{
	uint64_t copies = copies_of(l);
	/* Without IP identifications, copies are taken for retransmissions. */
	uint64_t again = count(l, RD_INC_DUPLICATED) +
			 (l->s->identified ? 0 : count(l, RD_INC_RETRANSMITTED));

	return copies > FEW_COPIES &&
	       (copies >= l->f->evidence.count || again * 2 >= l->s->requests);
}

/*
 * Reordering by itself is normal where packets are sprayed. Only NAKs show that the receiver does
 * not take them; those of lost packets do not count. A receiver that takes packets in order has one
 * for each run of late packets, unless it discards them: after a NAK, until the retransmission.
 */
static bool is_refused_late(const struct look *l)
{
	uint64_t lost = count(l, RD_INC_LOST_DOWNSTREAM) + count(l, RD_INC_LOST_UPSTREAM);
	uint64_t naks = without(count(l, RD_INC_NAK_SEQUENCE), lost);
	uint64_t fresh = without(l->s->requests, count(l, RD_INC_RETRANSMITTED));

	return naks && naks * LATE_RUN * l->s->requests >= count(l, RD_INC_REORDERED) * fresh;
}

/* A receiver that takes them, and a capture that merges queues, look the same. */
DOUBT(is_taken, "a capture that merges its queues looks the same", !is_refused_late(l))

/*
 * What was retransmitted after a NAK looks the same, unless identifications count; and so do
 * responses to requests that were not captured, be it their retransmission.
 */
DOUBT(may_be_again, "after a NAK, a retransmission looks the same",
	l->s->unclear.late || (!count(l, RD_INC_REORDERED) &&
				      (!l->s->requests || count(l, RD_INC_RESPONSE_REPEATED))))

static bool reordered(const struct look *l, struct rd_finding *f)
{
	uint64_t late = count(l, RD_INC_REORDERED), responses = count(l, RD_INC_RESPONSE_REORDERED);
	unsigned int depth = late && !l->s->reorder_depth ? 1 : l->s->reorder_depth;
	bool refused = is_refused_late(l);
	char share[RD_UNITS_LEN], *rest;

	if (!late && (!responses || is_disordered(l)))
		return false;
	finding_evidence(f, incident(l, late ? RD_INC_REORDERED : RD_INC_RESPONSE_REORDERED));
	if (refused)
		f->severity = RD_SEV_PROBLEM;
	f->meaning = paths(l, refused);
	rd_finding_title(f, refused ? "packets are reordered, and the receiver takes them for lost"
				    : "packets are reordered upstream of this capture point");
	rest = say(l, "{responses_reordered response} came late and are no retransmissions; "
		      "{nak_sequence NAK}, {retransmitted packet} retransmitted");
	rd_finding_detail(f, "%llu request%s (%s of them, up to %u packet%s late) and %s", n(late),
		rd_plural(late), share_text(share, late, l->s->requests), depth, rd_plural(depth),
		rest ? rest : "");
	free(rest);
	return true;
}

/* Where packets come late here already, a NAK may have been under way when they came. */
DOUBT(may_cross, "packets are late here, too: a NAK may have been in flight",
	count(l, RD_INC_REORDERED) || l->s->unclear.late)

/* As where one direction has the times of another clock. */
DOUBT(is_behind_round, "rounds begin sooner than responses come: NAKs may be late in the file",
	count(l, RD_INC_ROUND_TIMEOUT) && (is_sooner(l) || NO_TIMER->holds(l)))

static bool duplicated(const struct look *l, struct rd_finding *f)
{
	uint64_t requests = count(l, RD_INC_DUPLICATED),
		 responses = count(l, RD_INC_RESPONSE_DUPLICATED);

	if (!requests && !responses)
		return false;
	finding_evidence(f, incident(l, requests ? RD_INC_DUPLICATED : RD_INC_RESPONSE_DUPLICATED));
	if (l->c->multicast) {
		f->severity = RD_SEV_NOTE;
		f->meaning = "the host is a member of the group that it sends to, and gets its own "
			     "packets back; or the network duplicates them";
		rd_finding_title(f, "frames of a multicast were captured twice");
	}
	return true;
}

/* Of many retransmissions some have the same identification, or are as early, by chance. */
DOUBT(are_few, "no more than rounds: it may be chance", copies_of(l) <= rounds(l))

/*
 * A NAK that was not captured makes the sender as early as a copy; so does a sender's NIC that
 * stood still until the timer had fired: both leave it at once, though not often.
 */
DOUBT(may_be_early, "without IP identifications, an early retransmission looks the same",
	l->s->unclear.copies_timed && (rounds(l) || count(l, RD_INC_FROM_BEFORE) ||
					      is_clock_coarse(l->r) || copies_of(l) <= FEW_COPIES))

/* The capture may have missed the request again. */
DOUBT(may_be_answered_again, "a request that the capture missed may have been answered again",
	count(l, RD_INC_RESPONSE_DUPLICATED) && !l->other->identified)

DOUBT(is_multicast, "a host gets its own multicast back", l->c->multicast)

const struct rule rules_of_order[] = {
	{"reordered", RD_SEV_NOTE, RD_LIKELY, 0, reordered, .filtered = OF_REQUESTS,
		.next = "nothing to do without NAKs; with them look at the hashing of LAG and ECMP "
			"and at adaptive routing; a capture at the sender too shows in which order "
			"they were sent",
		.doubts = {INCOMPLETE, may_be_again,
			IF(may_be_late_copies, "late copies look the same"), is_taken},
		.traits = ENDS_ANSWER,
		.cause = CAUSE(5, "ORDER", NULL, RD_LIKELY, "Packets late", LATE | UP, UPSTREAM)},
	/*
	 * The receiver got a packet that it had requested again, before the retransmission can have
	 * reached it: the first copy arrived there after others, though not here.
	 */
	{"reordered-downstream", RD_SEV_PROBLEM, RD_LIKELY, HAPPENED(REORDERED_DOWNSTREAM), NULL,
		"packets are reordered downstream of this capture point, and the receiver takes "
		"them for lost",
		"{count} of {nak_sequence} NAKs are for packets that then arrived before their "
		"retransmission; {retransmitted packet} retransmitted",
		OF_REQUESTS,
		.meaning = "switches send packets of one QP over several paths (a LAG or ECMP that "
			   "does not hash by flow, adaptive routing), and the receiver takes none "
			   "out of order",
		.next = "look at the hashing of LAG and ECMP and at adaptive routing between this "
			"point and the receiver; capture at the receiver too",
		.doubts = {INCOMPLETE, ONCE, DISCARDED, may_cross, is_behind_round},
		.traits = ENDS_ANSWER,
		.cause = CAUSE(
			5, "ORDER", NULL, RD_LIKELY, "Packets late", LATE | DOWN, DOWNSTREAM)},
	{"duplicated", RD_SEV_WARNING, RD_LIKELY, 0, duplicated,
		"frames are duplicated on the way here, or by the mirror port",
		"{duplicated request} and {responses_duplicated response} were captured twice, "
		"with the same IP identification or, without one, within microseconds; responses "
		"without one also where no request was repeated",
		OF_REQUESTS,
		.meaning = "a mirror session that copies a frame at two ports, or a loop in the "
			   "network",
		.next = "look at the mirror session first, then for loops; capture at the receiver",
		.doubts = {DISORDERED, are_few, may_be_early, may_be_answered_again, is_multicast},
		.traits = ENDS_ANSWER,
		.cause = CAUSE(11, "COPIES",
			"Frames from {s} to {r} are duplicated on the way or by the mirror port.",
			RD_POSSIBLE, "Frames twice", 0, UPSTREAM)},
	{0},
};
