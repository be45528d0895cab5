/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over one side of a conversation: packets that are lost or damaged. */
#include "look.h"

#define GAPS_MAX   256 /* conversations among which other receivers of a UD QP are searched */
#define LATE_SHARE 16  /* few packets that are proven late, among many that seem lost */

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
		n(count(l, RD_INC_GAP)), rd_plural(count(l, RD_INC_GAP)),
		n(count(l, RD_INC_RETRANSMITTED)), n(rounds(l)), rd_plural(rounds(l)),
		n(count(l, RD_INC_ROUND_NAK)), n(count(l, RD_INC_ROUND_RNR)),
		n(count(l, RD_INC_ROUND_READ)), n(count(l, RD_INC_ROUND_TIMEOUT)));
}

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
	uint64_t damaged = count(l, RD_INC_ICRC) + count(l, RD_INC_TRIMMED);

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

/*
 * READs or atomics that were repeated at once after a later response, among requests of other
 * kinds: no response is known to be missing here, but not all were followed.
 */
static bool is_response_unclear(const struct look *l)
{
	return count(l, RD_INC_ROUND_READ) && !count(l, RD_INC_RESPONSE_LOST) &&
	       !count(l, RD_INC_RESPONSE_GAP) && !count(l, RD_INC_RESPONSE_UNSEEN);
}

static bool responses_lost_downstream(const struct look *l, struct rd_finding *f)
{
	if (is_response_unclear(l) && l->other->seen) {
		finding_evidence(f, incident(l, RD_INC_ROUND_READ));
		finding_lower(f, RD_POSSIBLE);
		rd_finding_title(
			f, "responses may be lost between this capture point and the requester");
		rd_finding_detail(f,
			"it retransmitted %llu time%s READs or atomics after later responses; none "
			"of "
			"their responses is known to be missing here",
			n(count(l, RD_INC_ROUND_READ)), rd_plural(count(l, RD_INC_ROUND_READ)));
		filter_requests(l, f);
		return true;
	}
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
		n(count(l, RD_INC_RESPONSE_LOST)), rd_plural(count(l, RD_INC_RESPONSE_LOST)));
	filter_requests(l, f);
	return true;
}

static bool responses_lost_upstream(const struct look *l, struct rd_finding *f)
{
	const uint64_t all = count(l, RD_INC_RESPONSE_GAP);
	const uint64_t gaps = without(all, count(l, RD_INC_RESPONSE_UNSEEN));

	if (!all || !count(l, RD_INC_ROUND_READ))
		return false;
	finding_evidence(f, incident(l, RD_INC_RESPONSE_GAP));
	/* What was never requested again was not lost; something was. */
	f->evidence.count = gaps ? gaps : 1;
	lower_if_missed(l, f);
	/* The copy of a response after others may seem to be another gap. */
	if (count(l, RD_INC_RESPONSE_REORDERED) || count(l, RD_INC_RESPONSE_DUPLICATED))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "READ responses are lost upstream of this capture point");
	rd_finding_detail(f,
		"%llu gap%s in the responses, %llu request%s retransmitted, %llu response%s "
		"repeated",
		n(f->evidence.count), rd_plural(f->evidence.count), n(count(l, RD_INC_ROUND_READ)),
		rd_plural(count(l, RD_INC_ROUND_READ)), n(count(l, RD_INC_RESPONSE_REPEATED)),
		rd_plural(count(l, RD_INC_RESPONSE_REPEATED)));
	filter_responses(l, f, "infiniband.bth.opcode >= 13 && infiniband.bth.opcode <= 16");
	return true;
}

#define GAPS_LEN 96

/* "3 packets in 2 gaps, 1.5 %" */
static const char *gaps_text(char buf[GAPS_LEN], const struct look *l)
{
	const uint64_t lost = count(l, RD_INC_UNSEEN), gaps = count(l, RD_INC_GAP);
	char share[RD_UNITS_LEN];

	snprintf(buf, GAPS_LEN, "%llu packet%s in %llu gap%s, %s", n(lost), rd_plural(lost),
		n(gaps), rd_plural(gaps), share_text(share, lost, l->s->requests + lost));
	return buf;
}

static bool lost_unreliable(const struct look *l, struct rd_finding *f)
{
	char gaps[GAPS_LEN];

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
	rd_finding_detail(f, "%s, which break %llu message%s; UC does not retransmit them",
		gaps_text(gaps, l), n(count(l, RD_INC_BROKEN)), rd_plural(count(l, RD_INC_BROKEN)));
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
	char gaps[GAPS_LEN];

	/* A group may have members elsewhere, and IP's broadcasts go with the same PSNs. */
	if (l->c->transport != RD_UD || (l->c->kind == RD_KIND_IB && l->c->multicast) ||
		l->c->ipoib || !count(l, RD_INC_UNSEEN) || l->from->qp <= 1 ||
		l->r->n_conversations > GAPS_MAX || sends_to_others(l))
		return false;
	finding_evidence(f, incident(l, RD_INC_UNSEEN));
	rd_finding_title(f, "the PSNs of a UD QP have gaps");
	rd_finding_detail(f,
		"%s: lost upstream of this capture point, missed by the capture, or sent to QPs "
		"that it does not see",
		gaps_text(gaps, l));
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
	rd_finding_detail(f, "%llu frame%s with a wrong invariant CRC, %s; receivers drop them",
		n(count(l, RD_INC_ICRC)), rd_plural(count(l, RD_INC_ICRC)),
		share_text(share, count(l, RD_INC_ICRC), l->s->frames));
	filter_requests(l, f);
	return true;
}

static bool trimmed(const struct look *l, struct rd_finding *f)
{
	char share[RD_UNITS_LEN];

	if (!count(l, RD_INC_TRIMMED))
		return false;
	finding_evidence(f, incident(l, RD_INC_TRIMMED));
	rd_finding_title(f, "packets lost their payload upstream of this capture point");
	rd_finding_detail(f, "%llu packet%s with headers of a longer one, %s", n(f->evidence.count),
		rd_plural(f->evidence.count), share_text(share, f->evidence.count, l->s->frames));
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
	{{"trimmed", RD_SEV_PROBLEM, RD_LIKELY,
		 "a switch without room for them trimmed these packets: it sent their headers on, "
		 "so that the receiver requests them again at once",
		 "look at the queues and at the counters of trimmed packets of the switches; the "
		 "DSCP of these packets is that of trimmed ones"},
		trimmed},
	{{"damaged", RD_SEV_PROBLEM, RD_LIKELY,
		 "a bad cable, transceiver or memory on the path, a device that rewrites headers, "
		 "or "
		 "a capture of the sending host taken before the NIC computed the CRC",
		 "capture at the receiver and look at its rx_icrc_encapsulated; look at symbol, "
		 "FEC "
		 "and FCS errors of every link on the path"},
		damaged},
	{{0}, NULL},
};
