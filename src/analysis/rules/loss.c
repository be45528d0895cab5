/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over one side of a conversation: packets that are lost, damaged, reordered, not captured.
 */
#include "look.h"

#define GAPS_MAX   256 /* conversations among which other receivers of a UD QP are searched */
#define FEW_COPIES 8   /* more of them may be those of a mirror */
#define HALVES_MAX 256 /* the same, frames of the other direction */
#define LATE_SHARE 16  /* few packets that are proven late, among many that seem lost */
#define LATE_RUN   8   /* packets that a receiver misses at once, and requests with one NAK */

/* Loss is the share of different packets; go-back-N retransmits many for each. */
static void detail_retransmitted(const struct look *l, struct rd_finding *f)
{
	uint64_t again = count(l, RD_INC_RETRANSMITTED) + count(l, RD_INC_DUPLICATED);
	uint64_t distinct = l->s->requests - (again < l->s->requests ? again : 0) +
			    count(l, RD_INC_LOST_UPSTREAM);
	char share[RD_UNITS_LEN];

	rd_finding_detail(f,
		"%llu of %llu different packets lost (%s), %llu gap%s in the sequence; %llu "
		"packets retransmitted in %llu round%s (after NAKs %llu, RNR NAKs %llu, missing "
		"responses %llu, timeouts %llu)",
		n(f->evidence.count), n(distinct), share_text(share, f->evidence.count, distinct),
		n(count(l, RD_INC_GAP)), plural(count(l, RD_INC_GAP)),
		n(count(l, RD_INC_RETRANSMITTED)), n(rounds(l)), plural(rounds(l)),
		n(count(l, RD_INC_ROUND_NAK)), n(count(l, RD_INC_ROUND_RNR)),
		n(count(l, RD_INC_ROUND_READ)), n(count(l, RD_INC_ROUND_TIMEOUT)));
}

/* --- loss ------------------------------------------------------------------------------------- */

/*
 * A packet that was not captured may have been missed by the capture: it says when it was, a mirror
 * port does not, but ACKs for packets that it missed show it. Without the other direction no NAK
 * shows that a packet was lost at all.
 */
static void lower_if_missed(const struct look *l, struct rd_finding *f)
{
	if (is_incomplete(l))
		finding_lower(f, RD_POSSIBLE);
}

static uint64_t late_packets(const struct look *l)
{
	return count(l, RD_INC_REORDERED) + count(l, RD_INC_REORDERED_DOWNSTREAM);
}

/* A single event among several rounds: frames that the capture missed may have made it. */
static bool is_exception(const struct look *l, const struct rd_finding *f)
{
	return f->evidence.count == 1 && rounds(l) > 4;
}

/*
 * Whether the receiver requested what is absent here; or the sender repeated it only, as it does
 * where the receiver takes packets out of order.
 */
static bool is_requested(const struct look *l)
{
	uint64_t lost = count(l, RD_INC_LOST_UPSTREAM);

	if (count(l, RD_INC_RETRANSMITTED) <= lost && count(l, RD_INC_GAP) >= lost)
		return true;
	return naks_for_gaps(l) && naks_for_gaps(l) >= gaps_without_nak(l);
}

/*
 * Whether the file may have each packet twice, from two points: then which one is a retransmission
 * is not known. NAKs show it: a receiver sends one, and the sender goes back once for it.
 */
static bool may_be_each_twice(const struct look *l)
{
	uint64_t naks = count(l, RD_INC_NAK_SEQUENCE);

	return naks > 1 && naks * 2 >= count(l, RD_INC_ROUND_NAK) * 3 && is_all_again(l);
}

/*
 * A receiver that is not ready discards what follows, and may request it later; when it does, the
 * packets of the round after its RNR NAK may be on their way.
 */
static bool may_be_discarded(const struct look *l, const struct rd_finding *f)
{
	return count(l, RD_INC_RNR) >= f->evidence.count;
}

static bool lost_downstream(const struct look *l, struct rd_finding *f)
{
	if (!count(l, RD_INC_LOST_DOWNSTREAM))
		return false;
	finding_evidence(f, incident(l, RD_INC_LOST_DOWNSTREAM));
	/*
	 * If some packets are late, others that seem lost may also be late: that shows only where
	 * the receiver responds to them before their retransmission. trust.c looks at the other QPs
	 * of the path.
	 */
	if (late_packets(l) * LATE_SHARE > f->evidence.count || is_incomplete(l) ||
		is_exception(l, f) || may_be_each_twice(l) || may_be_discarded(l, f))
		finding_lower(f, RD_POSSIBLE);
	/* A receiver of single packets requests those that are on their way: times tell them. */
	if (has_coarse_clock(l->r) && count(l, RD_INC_SELECTIVE))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "packets are lost downstream of this capture point");
	detail_retransmitted(l, f);
	filter_requests(l, f);
	return true;
}

static bool lost_upstream(const struct look *l, struct rd_finding *f)
{
	uint64_t damaged = count(l, RD_INC_ICRC);

	if (!count(l, RD_INC_LOST_UPSTREAM) || damaged >= count(l, RD_INC_LOST_UPSTREAM))
		return false;
	finding_evidence(f, incident(l, RD_INC_LOST_UPSTREAM));
	lower_if_missed(l, f);
	/* A damaged QP number or address hides whose packet it was. */
	if (is_exception(l, f) || damaged + l->a->icrc_lost.count >= f->evidence.count)
		finding_lower(f, RD_POSSIBLE);
	/* A late packet after a NAK looks like the retransmission. */
	if (count(l, RD_INC_REORDERED) * 4 > f->evidence.count || !is_requested(l) ||
		may_be_each_twice(l))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "packets are lost upstream of this capture point");
	detail_retransmitted(l, f);
	filter_requests(l, f);
	return true;
}

/*
 * Whether nearly all packets were captured twice, and only some copies are recognized by their
 * identifications: the others came when these were forgotten, and look late or retransmitted.
 */
static bool has_forgotten_copies(const struct look *l)
{
	uint64_t copies = count(l, RD_INC_DUPLICATED);
	uint64_t again = count(l, RD_INC_RETRANSMITTED) + count(l, RD_INC_REORDERED);

	return copies && again * 4 >= copies && (copies + again) * 16 >= l->s->requests * 7;
}

/*
 * Near the responder nothing shows how far the requester is. Its timer is too short for the path
 * if it fired while responses were certainly on their way, for every fourth request, or if every
 * packet was repeated.
 */
static bool may_be_far_away(const struct look *l)
{
	uint64_t messages = 0;

	for (unsigned int verb = 0; verb < RD_VERB_COUNT; verb++)
		messages += rd_side_verb(l->s, (enum rd_verb)verb)->messages;
	return count(l, RD_INC_CROSSED) || is_all_again(l) || has_forgotten_copies(l) ||
	       count(l, RD_INC_RESPONSE_LOST) * 4 > messages;
}

static bool responses_lost_downstream(const struct look *l, struct rd_finding *f)
{
	if (!count(l, RD_INC_RESPONSE_LOST) || !l->other->seen || responses_arrived(l))
		return false;
	finding_evidence(f, incident(l, RD_INC_RESPONSE_LOST));
	if (capture_lost_frames(l->r) || has_cut_headers(l) || is_disordered(l) ||
		has_doubtful_copies(l))
		finding_lower(f, RD_POSSIBLE);
	if (may_be_far_away(l) || may_be_reused(l))
		finding_lower(f, RD_POSSIBLE);
	if (f->evidence.count == 1) { /* a timer that fired late looks the same */
		f->severity = RD_SEV_WARNING;
		finding_lower(f, RD_POSSIBLE);
	}
	rd_finding_title(f, "responses are lost between this capture point and the requester");
	rd_finding_detail(f,
		"it retransmitted %llu time%s requests whose responses had been captured",
		n(count(l, RD_INC_RESPONSE_LOST)), plural(count(l, RD_INC_RESPONSE_LOST)));
	filter_requests(l, f);
	return true;
}

static bool responses_lost_upstream(const struct look *l, struct rd_finding *f)
{
	if (!count(l, RD_INC_RESPONSE_GAP) || !count(l, RD_INC_ROUND_READ))
		return false;
	finding_evidence(f, incident(l, RD_INC_RESPONSE_GAP));
	lower_if_missed(l, f);
	/* The copy of a response after others may seem to be another gap. */
	if (count(l, RD_INC_RESPONSE_REORDERED) || count(l, RD_INC_RESPONSE_DUPLICATED))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "READ responses are lost upstream of this capture point");
	rd_finding_detail(f,
		"%llu gaps in the responses, %llu requests retransmitted, %llu responses repeated",
		n(count(l, RD_INC_RESPONSE_GAP)), n(count(l, RD_INC_ROUND_READ)),
		n(count(l, RD_INC_RESPONSE_REPEATED)));
	filter_responses(l, f, "infiniband.bth.opcode >= 13 && infiniband.bth.opcode <= 16");
	return true;
}

static bool lost_unreliable(const struct look *l, struct rd_finding *f)
{
	char share[RD_UNITS_LEN];

	if (l->c->transport != RD_UC || !count(l, RD_INC_UNSEEN))
		return false;
	finding_evidence(f, incident(l, RD_INC_UNSEEN));
	/*
	 * Nothing else shows whether the capture missed them. Loss takes packets out of messages;
	 * gaps that do not may have been left by the sender.
	 */
	if (!capture_is_whole(l->r) || !count(l, RD_INC_BROKEN))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(
		f, "packets of an unreliable connection are lost upstream of this capture point");
	rd_finding_detail(f,
		"%llu packets in %llu gaps, %s, which break %llu messages; UC does not "
		"retransmit them",
		n(count(l, RD_INC_UNSEEN)), n(count(l, RD_INC_GAP)),
		share_text(
			share, count(l, RD_INC_UNSEEN), l->s->requests + count(l, RD_INC_UNSEEN)),
		n(count(l, RD_INC_BROKEN)));
	filter_requests(l, f);
	return true;
}

/* Whether the capture has packets of this UD QP to another one. */
static bool sends_to_others(const struct look *l)
{
	for (size_t i = 0; i < l->r->n_conversations; i++) {
		const struct rd_conversation *c = &l->r->conversations[i];

		if (c == l->c || c->transport != RD_UD)
			continue;
		if ((c->a.qp == l->from->qp && !strcmp(c->a.address, l->from->address)) ||
			(c->b.qp == l->from->qp && !strcmp(c->b.address, l->from->address)))
			return true;
	}
	return false;
}

/* PSNs count the packets of the sending QP, whomever it sends them to. */
static bool datagram_gaps(const struct look *l, struct rd_finding *f)
{
	char share[RD_UNITS_LEN];

	/* A group may have members elsewhere, and IP's broadcasts go with the same PSNs. */
	if (l->c->transport != RD_UD || (l->c->kind == RD_KIND_IB && l->c->multicast) ||
		l->c->ipoib || !count(l, RD_INC_UNSEEN) || l->from->qp <= 1 ||
		l->r->n_conversations > GAPS_MAX || sends_to_others(l))
		return false;
	finding_evidence(f, incident(l, RD_INC_UNSEEN));
	rd_finding_title(f, "the PSNs of a UD QP have gaps");
	rd_finding_detail(f,
		"%llu packets in %llu gaps, %s: lost upstream of this capture point, missed "
		"by the capture, or sent to QPs that it does not see",
		n(count(l, RD_INC_UNSEEN)), n(count(l, RD_INC_GAP)),
		share_text(
			share, count(l, RD_INC_UNSEEN), l->s->requests + count(l, RD_INC_UNSEEN)));
	filter_requests(l, f);
	return true;
}

static bool damaged(const struct look *l, struct rd_finding *f)
{
	char share[RD_UNITS_LEN];

	if (!count(l, RD_INC_ICRC) || !l->r->totals.icrc_trusted)
		return false;
	finding_evidence(f, incident(l, RD_INC_ICRC));
	/* So many wrong ones are rather captured before the sending NIC computed them. */
	if (f->evidence.count * 2 > l->s->frames || l->r->totals.icrc_doubted)
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "frames are damaged upstream of this capture point");
	rd_finding_detail(f, "%llu frames with a wrong invariant CRC, %s; receivers drop them",
		n(count(l, RD_INC_ICRC)), share_text(share, count(l, RD_INC_ICRC), l->s->frames));
	filter_requests(l, f);
	return true;
}

/* --- order ------------------------------------------------------------------------------------ */

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
		"%llu requests (%s of them, up to %u packets late) and %llu responses "
		"came late and are no retransmissions; %llu NAKs, %llu packets retransmitted",
		n(late), share_text(share, late, l->s->requests), depth, n(responses), n(naks),
		n(count(l, RD_INC_RETRANSMITTED)));
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
		"%llu packets retransmitted",
		n(late), n(count(l, RD_INC_NAK_SEQUENCE)), n(count(l, RD_INC_RETRANSMITTED)));
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
	if (l->c->multicast) {
		f->severity = RD_SEV_NOTE;
		f->meaning = "the host is a member of the group that it sends to, and gets its own "
			     "packets back; or the network duplicates them";
		finding_lower(f, RD_POSSIBLE);
		rd_finding_title(f, "frames of a multicast were captured twice");
	} else {
		rd_finding_title(f, "frames are duplicated upstream of this capture point");
	}
	rd_finding_detail(f,
		"%llu requests and %llu responses were captured twice, with the same IP "
		"identification or, without one, within microseconds",
		n(requests), n(responses));
	filter_requests(l, f);
	return true;
}

/* --- what the capture lacks ------------------------------------------------------------------- */

/*
 * Whether RC frames to this sender, or from this receiver, are there whose requester or responder
 * is unknown. They may have another address where a device on the path rewrites it.
 */
bool may_have_other_half(const struct look *l)
{
	const char *from = l->s->seen ? l->from->address : l->to->address;
	const char *to = l->s->seen ? l->to->address : l->from->address;

	for (size_t i = 0; i < l->r->n_conversations && i < HALVES_MAX; i++) {
		const struct rd_conversation *c = &l->r->conversations[i];
		const bool back = !c->side[0].seen;

		if (c != l->c && c->transport == l->c->transport && c->pairing == RD_PAIR_NONE &&
			(!strcmp((back ? &c->b : &c->a)->address, to) ||
				!strcmp((back ? &c->a : &c->b)->address, from)))
			return true;
	}
	return l->r->n_conversations > HALVES_MAX;
}

bool is_one_direction(const struct look *l)
{
	for (size_t i = 0; i < l->r->n_conversations && i < HALVES_MAX; i++) {
		const struct rd_conversation *c = &l->r->conversations[i];

		if ((c->side[0].seen && !strcmp(c->a.address, l->to->address) &&
			    !strcmp(c->b.address, l->from->address)) ||
			(c->side[1].seen && !strcmp(c->b.address, l->to->address) &&
				!strcmp(c->a.address, l->from->address)))
			return false;
	}
	return true;
}

static bool one_sided(const struct look *l, struct rd_finding *f)
{
	if (!is_rc(l) || l->side || l->c->pairing != RD_PAIR_NONE || l->s->seen == l->other->seen ||
		(rounds(l) && !made_progress(l)) || l->s->frames + l->other->frames < 8)
		return false;
	f->evidence.count = l->s->frames + l->other->frames;
	rd_finding_frame(f, l->s->seen ? l->s->first_frame : l->other->first_frame);
	if (may_have_other_half(l)) {
		finding_lower(f, RD_POSSIBLE);
		f->meaning = "frames that are out of order in the file, or a capture that begins "
			     "late; or a filter, a mirror of one direction only";
		rd_finding_title(f, "only one direction is known");
		rd_finding_detail(f,
			"%llu frames; which frames of the other direction belong to them is "
			"unknown, and so are latencies and causes",
			n(f->evidence.count));
	} else {
		/* The other direction may be in another network of the same addresses. */
		if (l->s->shared || l->other->shared)
			finding_lower(f, RD_POSSIBLE);
		rd_finding_title(f, "only one direction was captured");
		rd_finding_detail(f,
			"%llu frames, none in the other direction: latencies and causes are "
			"unknown",
			n(f->evidence.count));
	}
	filter_requests(l, f);
	return true;
}

#define START_FRAMES 512 /* packets that overtook others before the capture began: one window */

/*
 * Where packets overtake each other, those that are absent at first may have come before. So they
 * may where the sender retransmits single packets: the capture may begin with some of these.
 */
static bool is_from_start(const struct look *l)
{
	return (late_packets(l) || count(l, RD_INC_SELECTIVE)) &&
	       incident(l, RD_INC_UNSEEN)->last_frame < l->s->first_frame + START_FRAMES;
}

static bool unseen(const struct look *l, struct rd_finding *f)
{
	if (!is_rc(l) || !count(l, RD_INC_UNSEEN))
		return false;
	finding_evidence(f, incident(l, RD_INC_UNSEEN));
	if (has_cut_headers(l) || count(l, RD_INC_FROM_BEFORE) || is_disordered(l) ||
		is_from_start(l))
		finding_lower(f, RD_POSSIBLE);
	if (l->s->gap_doubtful) {
		finding_lower(f, RD_POSSIBLE);
		f->meaning = "the capture was too slow, or packets take a path that it does not "
			     "see; or the QP was used again with PSNs ahead of the last ones, and "
			     "none is missing";
		f->next = "look at the losses of the capture; one that has the CM's messages "
			  "shows where connections begin";
	}
	/* What seems damaged may be what was acknowledged: only its payload was removed. */
	if (count(l, RD_INC_ICRC) + l->a->icrc_lost.count >= f->evidence.count)
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "the capture missed packets that the receiver got");
	rd_finding_detail(f,
		"%llu packets were acknowledged but never captured; the network did not lose them",
		n(count(l, RD_INC_UNSEEN)));
	filter_requests(l, f);
	return true;
}

static bool responses_unseen(const struct look *l, struct rd_finding *f)
{
	uint64_t missed = count(l, RD_INC_RESPONSE_UNSEEN);

	if (!missed)
		return false;
	finding_evidence(f, incident(l, RD_INC_RESPONSE_UNSEEN));
	/* A request that is refused has no further response. */
	if (has_cut_headers(l) || is_disordered(l) || is_refused(l))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "the capture missed responses that the requester got");
	rd_finding_detail(f,
		"%llu time%s READ or atomic responses were not captured, and the requester "
		"continued without requesting them again",
		n(missed), plural(missed));
	filter_requests(l, f);
	return true;
}

const struct rule rules_of_loss[] = {
	{{"lost-downstream", RD_SEV_PROBLEM, RD_LIKELY,
		 "a switch that drops on this priority (no PFC), a bad link, or the receiving NIC; "
		 "or reordering that the receiver takes for loss",
		 "capture at the receiver too, to see whether they arrive late; look at its "
		 "out_of_buffer and rx_discards, and at discards of the switch port"},
		lost_downstream},
	{{"lost-upstream", RD_SEV_PROBLEM, RD_LIKELY,
		 "loss between the sender and this capture point: a switch without PFC on this "
		 "priority, a bad link, or the sender's NIC; or the capture missed them",
		 "capture at the sender too, to see whether they were sent; look at its "
		 "tx_discards, "
		 "at symbol and link errors"},
		lost_upstream},
	{{"responses-lost-downstream", RD_SEV_PROBLEM, RD_LIKELY,
		 "loss on the path back: both directions need the same priority and PFC",
		 "capture at the requester too; compare DSCP or PCP of requests and responses"},
		responses_lost_downstream},
	{{"responses-lost-upstream", RD_SEV_PROBLEM, RD_LIKELY,
		 "loss between the responder and this capture point, or the capture missed them",
		 "capture at the responder too; look at discards of the switch ports between"},
		responses_lost_upstream},
	{{"unreliable-lost", RD_SEV_PROBLEM, RD_LIKELY,
		 "loss on the path, which costs UC the whole message; or the capture missed them",
		 "capture at the sender too; look at discards on the path"},
		lost_unreliable},
	{{"datagram-gaps", RD_SEV_NOTE, RD_POSSIBLE,
		 "UD does not retransmit: the application notices lost datagrams itself, or nobody",
		 "capture at the sender too"},
		datagram_gaps},
	{{"damaged", RD_SEV_PROBLEM, RD_LIKELY,
		 "a bad cable, transceiver or memory on the path, a device that rewrites headers, "
		 "or "
		 "a capture of the sending host taken before the NIC computed the CRC",
		 "capture at the receiver and look at its rx_icrc_encapsulated; look at symbol, "
		 "FEC "
		 "and FCS errors of every link on the path"},
		damaged},
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
	{{"unseen", RD_SEV_NOTE, RD_LIKELY,
		 "the capture was too slow, or packets take a path that it does not see",
		 "look at the losses of the capture"},
		unseen},
	{{"responses-unseen", RD_SEV_NOTE, RD_LIKELY,
		 "the capture was too slow, or responses take a path that it does not see",
		 "look at the losses of the capture"},
		responses_unseen},
	{{"one-sided", RD_SEV_NOTE, RD_LIKELY,
		 "a mirror of one direction only, or a filter; or the receiver does not respond",
		 "capture both directions"},
		one_sided},
	{{0}, NULL},
};
