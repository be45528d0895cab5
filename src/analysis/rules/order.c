/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over one side of a conversation: packets that are reordered or duplicated. */
#include "look.h"

#define FEW_COPIES 8 /* more of them may be those of a mirror */
#define LATE_RUN   8 /* packets that a receiver misses at once, and requests with one NAK */

/* Where the packets of one QP take several paths, by what tells the paths apart. */
static const char *paths(const struct look *l, bool refused)
{
	if (l->s->ports_differ)
		return "the sender gives packets of this QP several UDP source ports, so that they "
		       "take several paths";
	if (refused)
		return "switches send packets of this QP over several paths although its UDP "
		       "source "
		       "port is the same (a LAG or ECMP that does not hash by flow, adaptive "
		       "routing), and the receiver takes none out of order; or the capture merges "
		       "several queues out of order";
	return "switches send packets of this QP over several paths although its UDP source port "
	       "is the same (adaptive routing, packet spraying), and the receiver takes them out "
	       "of order; or the capture merges several queues out of order";
}

/* Copies that a mirror makes of every packet may be late, too. */
static bool may_be_late_copies(const struct look *l, uint64_t late)
{
	uint64_t copies = count(l, RD_INC_DUPLICATED) + count(l, RD_INC_RESPONSE_DUPLICATED);
	/* Without IP identifications, copies are taken for retransmissions. */
	uint64_t again = count(l, RD_INC_DUPLICATED) +
			 (l->s->identified ? 0 : count(l, RD_INC_RETRANSMITTED));

	return copies > FEW_COPIES && (copies >= late || again * 2 >= l->s->requests);
}

/*
 * Reordering by itself is normal where packets are sprayed. Only NAKs show that the receiver does
 * not take them; those of lost packets do not count. A receiver that takes packets in order has one
 * for each run of late packets, unless it discards them: after a NAK, until the retransmission.
 */
static bool is_late_refused(const struct look *l, uint64_t late)
{
	uint64_t lost = count(l, RD_INC_LOST_DOWNSTREAM) + count(l, RD_INC_LOST_UPSTREAM);
	uint64_t naks = without(count(l, RD_INC_NAK_SEQUENCE), lost);
	uint64_t fresh = without(l->s->requests, count(l, RD_INC_RETRANSMITTED));

	return naks && naks * LATE_RUN * l->s->requests >= late * fresh;
}

static bool reordered(const struct look *l, struct rd_finding *f)
{
	uint64_t late = count(l, RD_INC_REORDERED), responses = count(l, RD_INC_RESPONSE_REORDERED),
		 naks = count(l, RD_INC_NAK_SEQUENCE);
	unsigned int depth = late && !l->s->reorder_depth ? 1 : l->s->reorder_depth;
	bool refused = is_late_refused(l, late);
	char share[RD_UNITS_LEN];

	if (!late && (!responses || is_disordered(l)))
		return false;
	finding_evidence(f, incident(l, late ? RD_INC_REORDERED : RD_INC_RESPONSE_REORDERED));
	/*
	 * What was retransmitted after a NAK looks the same, unless identifications count; and so
	 * do responses to requests that were not captured, be it their retransmission.
	 */
	if (is_incomplete(l) || l->s->late_doubtful || (!late && !l->s->requests) ||
		(!late && count(l, RD_INC_RESPONSE_REPEATED)) ||
		may_be_late_copies(l, late ? late : responses))
		finding_lower(f, RD_POSSIBLE);
	if (refused)
		f->severity = RD_SEV_PROBLEM;
	else /* a receiver that takes them, and a capture that merges queues, look the same */
		finding_lower(f, RD_POSSIBLE);
	f->meaning = paths(l, refused);
	rd_finding_title(f, refused ? "packets are reordered, and the receiver takes them for lost"
				    : "packets are reordered upstream of this capture point");
	rd_finding_detail(f,
		"%llu request%s (%s of them, up to %u packet%s late) and %llu response%s "
		"came late and are no retransmissions; %llu NAK%s, %llu packet%s retransmitted",
		n(late), rd_plural(late), share_text(share, late, l->s->requests), depth,
		rd_plural(depth), n(responses), rd_plural(responses), n(naks), rd_plural(naks),
		n(count(l, RD_INC_RETRANSMITTED)), rd_plural(count(l, RD_INC_RETRANSMITTED)));
	filter_requests(l, f);
	return true;
}

/*
 * The receiver got a packet that it had requested again, before the retransmission can have reached
 * it: the first copy arrived there after others, though not here.
 */
static bool reordered_downstream(const struct look *l, struct rd_finding *f)
{
	uint64_t late = count(l, RD_INC_REORDERED_DOWNSTREAM);

	if (!late)
		return false;
	finding_evidence(f, incident(l, RD_INC_REORDERED_DOWNSTREAM));
	/* Where packets come late here already, a NAK may have been under way when they came. */
	if (is_incomplete(l) || late == 1 || count(l, RD_INC_REORDERED) || l->s->late_doubtful ||
		may_be_discarded(l, f))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f,
		"packets are reordered downstream of this capture point, and the receiver takes "
		"them for lost");
	rd_finding_detail(f,
		"%llu of %llu NAKs are for packets that then arrived before their retransmission; "
		"%llu packet%s retransmitted",
		n(late), n(count(l, RD_INC_NAK_SEQUENCE)), n(count(l, RD_INC_RETRANSMITTED)),
		rd_plural(count(l, RD_INC_RETRANSMITTED)));
	filter_requests(l, f);
	return true;
}

static bool duplicated(const struct look *l, struct rd_finding *f)
{
	uint64_t requests = count(l, RD_INC_DUPLICATED),
		 responses = count(l, RD_INC_RESPONSE_DUPLICATED);

	if (!requests && !responses)
		return false;
	finding_evidence(f, incident(l, requests ? RD_INC_DUPLICATED : RD_INC_RESPONSE_DUPLICATED));
	/*
	 * Of many retransmissions some have the same identification, or are as early, by chance. A
	 * NAK that was not captured makes the sender as early as a copy; so does a sender's NIC
	 * that stood still until the timer had fired: both leave it at once, though not often.
	 */
	if (requests + responses <= rounds(l) ||
		(l->s->copies_timed &&
			(rounds(l) || count(l, RD_INC_FROM_BEFORE) || has_coarse_clock(l->r) ||
				requests + responses <= FEW_COPIES)) ||
		is_disordered(l))
		finding_lower(f, RD_POSSIBLE);
	/* The capture may have missed the request again. */
	if (responses && !l->other->identified)
		finding_lower(f, RD_POSSIBLE);
	if (l->c->multicast) {
		f->severity = RD_SEV_NOTE;
		f->meaning = "the host is a member of the group that it sends to, and gets its own "
			     "packets back; or the network duplicates them";
		finding_lower(f, RD_POSSIBLE);
		rd_finding_title(f, "frames of a multicast were captured twice");
	} else {
		rd_finding_title(f, "frames are duplicated on the way here, or by the mirror port");
	}
	rd_finding_detail(f,
		"%llu request%s and %llu response%s were captured twice, with the same IP "
		"identification or, without one, within microseconds; responses without one also "
		"where no request was repeated",
		n(requests), rd_plural(requests), n(responses), rd_plural(responses));
	filter_requests(l, f);
	return true;
}

const struct rule rules_of_order[] = {
	{{"reordered", RD_SEV_NOTE, RD_LIKELY, NULL,
		 "nothing to do without NAKs; with them look at the hashing of LAG and ECMP and at "
		 "adaptive routing; a capture at the sender too shows in which order they were "
		 "sent"},
		reordered},
	{{"reordered-downstream", RD_SEV_PROBLEM, RD_LIKELY,
		 "switches send packets of one QP over several paths (a LAG or ECMP that does not "
		 "hash by flow, adaptive routing), and the receiver takes none out of order",
		 "look at the hashing of LAG and ECMP and at adaptive routing between this point "
		 "and the receiver; capture at the receiver too"},
		reordered_downstream},
	{{"duplicated", RD_SEV_WARNING, RD_LIKELY,
		 "a mirror session that copies a frame at two ports, or a loop in the network",
		 "look at the mirror session first, then for loops; capture at the receiver"},
		duplicated},
	{{0}, NULL},
};
