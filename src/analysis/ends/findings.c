/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules over two captures of the same traffic: a row of a table each. */
#include "../rules/look.h"
#include "ends.h"

#define MISSED_BY_CHANCE 0.05
#define COPYING		 16 /* one of so many is no chance */
#define RISES_MIN	 3  /* of a delay; more than a clock is set */

/*
 * Whether so many runs of a QP's packets are more than a capture may have missed. If it misses
 * packets by chance, those of this QP and the `tested` ones alike, then all runs are among the
 * former with a probability of (sent / (sent + tested))^runs. A run counts once, since a capture
 * whose buffer is full misses many frames in a row. Of many QPs, one is hit by chance more often.
 */
static bool too_many_to_be_missed(const struct sight *s, enum rd_tap tap, uint64_t runs)
{
	const struct trust *t = &s->trust[tap];
	const double sent = (double)s->w->sent;
	double chance = (double)s->p->n_qps;

	if (!trusted(t))
		return false;
	if (s->reports[tap]->n_files && capture_is_whole(s->reports[tap]))
		return true;
	for (; t->tested && runs && chance >= MISSED_BY_CHANCE; runs--)
		chance *= sent / (sent + (double)t->tested);
	return chance < MISSED_BY_CHANCE;
}

static uint64_t count_at(const struct sight *s, enum rd_tap tap, enum rd_incident_kind kind)
{
	const struct rd_side *side = side_at(s, tap);

	return side ? rd_side_incident(side, kind)->count : 0;
}

/*
 * Whether all of it is so near the first or last moment of the time of both captures that the other
 * one may not have run: a packet may take as much longer than the usual ones as any other did, and
 * the clocks may differ from the first estimate.
 */
static bool is_at_edge(const struct look *l)
{
	const struct sight *s = l->ends;
	const struct rd_evidence *e = &l->f->evidence;
	const uint64_t margin = s->p->variation.max + s->r->edge_ns;

	return e->last_ns <= s->r->first_ns + margin || e->first_ns + margin >= s->r->last_ns;
}

/*
 * Whether a receiver's capture that misses packets by chance lacks as many of those that were lost
 * downstream of it: the receiver asks for these as well.
 */
static bool may_be_lost_downstream(const struct sight *s, uint64_t asked_for)
{
	const struct trust *t = &s->trust[!s->p->sender];
	const double downstream = (double)count_at(s, !s->p->sender, RD_INC_LOST_DOWNSTREAM);
	const double expected =
		t->missed ? downstream * (double)t->missed / (double)(t->missed + t->tested) : 0;
	double chance = 1; /* at most, of a Poisson distribution */

	for (uint64_t k = 1; k <= asked_for && chance >= MISSED_BY_CHANCE; k++)
		chance *= expected / (double)k;
	return chance >= MISSED_BY_CHANCE;
}

/* --- doubts ----------------------------------------------------------------------------------- */

DOUBT(has_no_sender, "nothing proves which capture is at the sender", !l->ends->p->sender_known)

DOUBT(has_evicted, "more packets than the analysis keeps waited for their match",
	l->ends->r->evicted)

/* Packets whose headers were damaged on the path arrive as others. */
static bool may_have_other_headers(const struct look *l)
{
	const struct rd_totals *t = &l->ends->reports[!l->ends->p->sender]->totals;

	return t->icrc_trusted && t->icrc_bad - t->icrc_doubted >= l->f->evidence.count;
}

/* Unless the receiver's capture shows that it would have had these packets. */
static bool may_be_missed(const struct look *l)
{
	const struct sight *s = l->ends;

	/* Where none arrives of a QP or a kind, the capture may not take these packets at all. */
	if (!s->w->arrived || s->w->lost_kind)
		return true;
	if (s->w->asked_for)
		return may_be_lost_downstream(s, s->w->asked_for);
	return is_at_edge(l) || !too_many_to_be_missed(s, !s->p->sender, s->w->lost_runs);
}

/* Unless the receiver asks for them, or the sender never gets a response to them. */
static bool may_be_too_long_to_capture(const struct look *l)
{
	const struct sight *s = l->ends;
	const struct rd_side *sender = side_at(s, s->p->sender);

	return !s->w->asked_for && !(sender && (sender->end.how == RD_ENDING_RETRY ||
						       sender->end.how == RD_ENDING_STOPPED));
}

DOUBT(is_end_of_all, "none arrived after them: the path may have failed",
	l->w->arrived_last < l->w->lost.first_frame)

/* Where it has none of a QP's packets, it may have ended before, or not take them. */
DOUBT(has_no_packet, "it has no packet to this QP, and may not take them", !l->w->arrived)

static uint64_t late_or_damaged(const struct sight *s)
{
	uint64_t sum = 0;

	for (enum rd_tap tap = RD_TAP_A; tap < RD_TAPS; tap++)
		sum += count_at(s, tap, RD_INC_REORDERED) + count_at(s, tap, RD_INC_ICRC);
	return sum;
}

DOUBT(are_late_or_damaged, "others are late or damaged", late_or_damaged(l->ends))

DOUBT(may_be_missed_by_sender, "the sender's capture may have missed them",
	!too_many_to_be_missed(l->ends, l->ends->p->sender, l->f->evidence.count))

/*
 * Without IP ids that differ, a retransmission looks the same. With them, it may be a copy that was
 * made in the sender, if its capture may have missed one of the two.
 */
static bool may_be_sent_twice(const struct look *l)
{
	const struct sight *s = l->ends;

	return !(s->p->ids_tell && trusted(&s->trust[s->p->sender])) &&
	       !too_many_to_be_missed(s, s->p->sender, s->w->duplicated_runs);
}

DOUBT(is_copying, "the receiver's capture has what its own host sent twice, too",
	COPYING * l->ends->trust[!l->ends->p->sender].copied >= l->f->evidence.count)

DOUBT(are_copies, "which copy of a packet is which is not known", !l->w->reordered)

/* Equal times prove no order. */
DOUBT(has_equal_times, "their times are equal at one end",
	l->w->reordered && !l->w->reordered_proven)

/* Whether frames of a capture are not in the order of their times. */
DOUBT(goes_back, "a capture is not in the order of its times",
	l->ends->reports[RD_TAP_A]->totals.backwards ||
		l->ends->reports[RD_TAP_B]->totals.backwards)

/* A packet whose first copy is lost looks late if the sender's capture missed it the next time. */
DOUBT(may_be_missed_again, "the sender's capture missed packets: a retransmission looks late",
	!l->ends->p->ids_tell && !trusted(&l->ends->trust[l->ends->p->sender]))

DOUBT(is_receiver_untrusted, "the receiver's capture missed packets, for which it may have asked",
	!trusted(&l->ends->trust[!l->ends->p->sender]))

/*
 * A NAK may be due to packets that came late, or that follow one with an RNR NAK: rxe_resp.c
 * requests that one once more.
 */
static bool may_be_asked_again(const struct look *l)
{
	const struct rd_side *side = side_at(l->ends, !l->ends->p->sender);

	return l->w->reordered || l->w->order_unclear ||
	       rd_side_incident(side, RD_INC_RNR)->count ||
	       rd_side_incident(side, RD_INC_REORDERED)->count;
}

/*
 * With one direction, a clock that was set looks the same; with both it does as far as they have
 * delays, but not again and again.
 */
DOUBT(may_be_clock, "a clock may have been set",
	!l->ends->r->both_ways || l->ends->p->rises < RISES_MIN)

/*
 * Packets of the same bytes of which each capture missed another one: a wrong pair may seem fast,
 * and then all others are slow.
 */
static bool may_be_wrong_pairs(const struct look *l)
{
	const struct sight *s = l->ends;

	return s->p->variation.p50 >= RD_ENDS_LATE_NS ||
	       (!s->p->ids_tell && !(trusted(&s->trust[RD_TAP_A]) && trusted(&s->trust[RD_TAP_B])));
}

/*
 * No line fits the times of both directions: a clock was set, or pairs are wrong. Or there are only
 * packets with others of the same bytes: one capture may have begun later than it seems.
 */
WHETHER(is_inconsistent,
	!l->ends->r->proven || (l->ends->r->both_ways && !l->ends->r->offset_known))

DOUBT(is_of_any_network, "packets outside of tunnels may be of any of the networks",
	l->ends->p->doubtful)

/* --- rules ------------------------------------------------------------------------------------ */

#define FEW_LONG 4

/* An MTU on the path: what is as long as a packet that was lost does not arrive, whenever sent. */
WHETHER(are_long_lost, l->w->lost.count >= FEW_LONG && l->w->arrived &&
			       l->w->lost_shortest > l->w->arrived_longest)

/* Both captures alone show that they never had a packet before the receiver asked for it. */
static bool lost_in_sender(const struct look *l, struct rd_finding *f)
{
	const struct sight *s = l->ends;
	const enum rd_tap sender = s->p->sender;
	const uint64_t here = count_at(s, sender, RD_INC_LOST_UPSTREAM);
	const uint64_t there = count_at(s, !sender, RD_INC_LOST_UPSTREAM);
	const uint64_t least = here < there ? here : there;

	/* What came late or damaged was not lost there. */
	if (!s->p->sender_known || late_or_damaged(s) >= least)
		return false;
	finding_evidence(f, rd_side_incident(side_at(s, sender), RD_INC_LOST_UPSTREAM));
	f->evidence.count = least;
	return true;
}

static bool duplicated_between(const struct look *l, struct rd_finding *f)
{
	rd_finding_detail(f,
		"%llu packet%s arrived once more than they were sent%s; frames of the "
		"receiver's capture",
		n(f->evidence.count), rd_plural(f->evidence.count),
		l->ends->p->ids_tell ? ", with the same IP id" : "");
	return true;
}

/* Which copy of a retransmission was late is not known, only that the order is another one. */
static bool order_is_unclear(const struct rd_path_qp *w, struct rd_finding *f)
{
	f->evidence.count = w->order_unclear;
	rd_finding_title(
		f, "retransmitted packets, or packets beside them, are reordered on the path");
	rd_finding_detail(f,
		"%llu of %llu packets arrived after later ones, if the copies of each packet "
		"arrived in the order in which they were sent",
		n(w->order_unclear), n(w->arrived));
	return w->order_unclear;
}

static bool reordered_between(const struct look *l, struct rd_finding *f)
{
	const struct rd_path_qp *w = l->w;
	char share[RD_UNITS_LEN];

	if (!w->reordered)
		return order_is_unclear(w, f);
	f->evidence.count = w->reordered;
	rd_finding_detail(f, "%s%llu of %llu packets (%s) arrived after later ones%s",
		w->order_unknown ? "at least " : "", n(w->reordered), n(w->arrived),
		share_text(share, w->reordered, w->arrived),
		l->ends->p->ids_tell ? "" : ", retransmissions left aside");
	return true;
}

/* Packets that the receiver requests again though its own capture has them. */
static bool lost_downstream(const struct look *l, struct rd_finding *f)
{
	const struct rd_side *side = side_at(l->ends, !l->ends->p->sender);

	if (side)
		finding_evidence(f, rd_side_incident(side, RD_INC_LOST_DOWNSTREAM));
	return f->evidence.count;
}

static bool delay_varies(const struct look *l, struct rd_finding *f)
{
	const struct rd_latency *v = &l->ends->p->variation;
	char median[RD_UNITS_LEN], p99[RD_UNITS_LEN], most[RD_UNITS_LEN];

	if (v->p99 < RD_ENDS_LATE_NS + l->ends->r->clock_steps_ns || is_inconsistent(l))
		return false;
	f->evidence.count = v->n;
	rd_finding_frame(f, l->ends->p->slowest_frame);
	rd_finding_detail(f,
		"one-way delay above the shortest: median %s, 99th percentile %s, maximum %s; a "
		"frame of the receiver's capture",
		rd_fmt_duration(median, v->p50), rd_fmt_duration(p99, v->p99),
		rd_fmt_duration(most, v->max));
	return true;
}

/* Of all rules. */
#define NO_CLOCK                                                                                   \
	IF(is_inconsistent, "no offset of the clocks fits, or packets may be paired wrongly"),     \
		is_of_any_network
#define AT_EDGE	  IF(is_at_edge, "one of the captures may not have run then")
#define OTHER_ONE IF(may_have_other_headers, "damaged headers make other packets of them")

const struct rule rules_of_ends[] = {
	{"lost-between", RD_SEV_PROBLEM, RD_LIKELY, AT_BOTH_ENDS(lost),
		.title = "packets are lost between the two capture points",
		.detail = "{count packet} of {sent} that were sent ({share_sent}) did not arrive, "
			  "and the receiver asked for {asked_for}; frames of the sender's capture",
		.filtered = OF_REQUESTS,
		.meaning = "a switch or router on the path drops: congestion without PFC on this "
			   "priority, a bad cable, a wrong MTU or VLAN; or the receiver's capture "
			   "missed them",
		.next = "look at discards, CRC errors and PFC counters of every port between the "
			"two hosts, and at what the receiver's capture lost",
		.doubts = {has_no_sender, NO_CLOCK, OTHER_ONE, has_evicted,
			IF(may_be_missed, "the receiver's capture may have missed them")},
		.traits = IS_REPEATED,
		.cause = CAUSE(4, "LOSS",
			"Packets from {s} to {r} are lost between the two capture points.",
			RD_POSSIBLE, "Packets lost", 0, ANYWHERE(RD_PLACE_FABRIC)),
		.surer = "the discard and error counters of the switch ports between them"},
	{"lost-long", RD_SEV_PROBLEM, RD_LIKELY, AT_BOTH_ENDS(lost), .when = are_long_lost,
		.title = "only long packets are lost between the two capture points",
		.detail = "{count packet}, all in frames of {lost_shortest} bytes or more, did "
			  "not arrive; all that arrived are in frames of up to {arrived_longest} "
			  "bytes; frames of the sender's capture",
		.filtered = OF_REQUESTS,
		.meaning = "a switch, router or tunnel on the path has a smaller MTU than the "
			   "QP's path MTU needs: it drops longer packets",
		.next = "ping -M do -s SIZE between the hosts; compare the MTUs of all ports on "
			"the path with the path MTU of the QP",
		.doubts = {has_no_sender, NO_CLOCK, OTHER_ONE,
			IF(may_be_too_long_to_capture,
				"the receiver's capture may have missed them"),
			is_end_of_all},
		.traits = IS_REPEATED,
		.cause = CAUSE(1, "MTU",
			"Long packets from {s} to {r} are lost between the two capture points, "
			"shorter ones arrive: the path has a smaller MTU.",
			RD_LIKELY, "Packets lost", 0, ANYWHERE(RD_PLACE_FABRIC)),
		.surer = "the MTUs of the switch ports between them"},
	{"lost-in-sender", RD_SEV_PROBLEM, RD_LIKELY, 0, lost_in_sender,
		"packets are lost inside the sender",
		"{count packet} that neither capture had before the receiver asked for them; "
		"frames of the sender's capture",
		OF_REQUESTS,
		.meaning = "the sending NIC or host drops packets after the point where it "
			   "captures, or its capture and the path both lost them",
		.next = "look at tx_discards_phy, at errors and at the egress policy of the "
			"sender's port",
		.doubts = {NO_CLOCK, are_late_or_damaged, may_be_missed_by_sender},
		.traits = OF_SENDER,
		.cause = CAUSE(4, "LOSS",
			"Packets from {s} to {r} are lost before the capture point at {s}: neither "
			"capture has them, and {r} asked for them.",
			RD_POSSIBLE, "Packets lost", 0, ANYWHERE(RD_PLACE_SENDER_NIC)),
		.surer = "the discard counters of the NIC of {s}"},
	{"lost-downstream-of-receiver", RD_SEV_PROBLEM, RD_LIKELY, 0, lost_downstream,
		"packets are lost downstream of the receiver's port",
		"{count time} the receiver requested packets again that its own capture has; "
		"frames of the receiver's capture",
		OF_REQUESTS,
		.meaning = "the receiving NIC or host drops: no room in its buffers, a bad ICRC, a "
			   "filter",
		.next = "look at out_of_buffer, rx_discards_phy and rx_icrc_encapsulated of the "
			"receiver",
		.doubts = {has_no_sender, NO_CLOCK, is_receiver_untrusted, goes_back,
			IF(may_be_asked_again, "others are late, or got an RNR NAK")},
		.cause = CAUSE(4, "LOSS",
			"Packets from {s} pass the capture point at {r}, and are lost downstream "
			"of it.",
			RD_POSSIBLE, "Requests for packets that had arrived", 0,
			ANYWHERE(RD_PLACE_RECEIVER_NIC)),
		.surer = "the discard counters of the NIC of {r}"},
	{"lost-or-missed", RD_SEV_WARNING, RD_POSSIBLE, AT_BOTH_ENDS(unclear),
		.title = "packets are lost between the two capture points, or the receiver's "
			 "capture missed them",
		.detail = "{count packet} of {sent} that were sent ({share_sent}); nothing shows "
			  "whether they arrived, and that capture missed others; frames of the "
			  "sender's capture",
		.filtered = OF_REQUESTS,
		.meaning = "a switch drops, or the receiver's capture does",
		.next = "capture at the receiver without losses: a larger buffer, a filter, a "
			"snapshot length",
		.cause = CAUSE(5, "LOSS",
			"Packets from {s} to {r} are lost between the two capture points, or the "
			"capture at {r} missed them.",
			RD_POSSIBLE, "Packets lost or missed", 0, ANYWHERE(RD_PLACE_FABRIC)),
		.traits = MISSED_BY_RECEIVER | IS_REPEATED},
	{"duplicated-between", RD_SEV_WARNING, RD_LIKELY, AT_BOTH_ENDS(duplicated),
		.applies = duplicated_between, .title = "packets are duplicated on the path",
		.filtered = OF_REQUESTS,
		.meaning = "a mirror session that copies a frame at two ports, or a loop; or the "
			   "sender's capture missed a retransmission",
		.next = "look for mirror sessions and loops on the switches between",
		.doubts = {has_no_sender, NO_CLOCK,
			IF(may_be_sent_twice, "the sender's capture may have missed the second "
					      "one"),
			is_copying},
		.traits = OF_SENDER,
		.cause = CAUSE(11, "COPIES",
			"Packets from {s} to {r} are duplicated between the two capture points.",
			RD_POSSIBLE, "Packets twice", 0, ANYWHERE(RD_PLACE_FABRIC))},
	{"reordered-between", RD_SEV_WARNING, RD_LIKELY, 0, reordered_between,
		"packets are reordered on the path", NULL, OF_REQUESTS,
		.meaning = "packets of one QP take several paths: adaptive routing, spraying, a "
			   "LAG that hashes per packet; or a capture that merges several queues "
			   "out of order",
		.next = "hash by UDP source port, or use NICs that accept packets out of order",
		.doubts = {has_no_sender, NO_CLOCK, are_copies, has_equal_times, goes_back,
			may_be_missed_again},
		.traits = OF_SENDER,
		.cause = CAUSE(5, "ORDER",
			"Packets from {s} to {r} overtake each other between the two capture "
			"points.",
			RD_POSSIBLE, "Packets late", 0, ANYWHERE(RD_PLACE_FABRIC))},
	{"missed-at-sender", RD_SEV_NOTE, RD_LIKELY, AT_BOTH_ENDS(missed),
		.title = "the sender's capture missed packets",
		.detail = "{count packet} arrived that the capture at the sender lacks; frames of "
			  "the receiver's capture",
		.filtered = OF_REQUESTS,
		.meaning =
			"the capture at the sender lost frames, or does not get all that its NIC "
			"sends",
		.next = "look at the losses of that capture",
		.doubts = {has_no_sender, NO_CLOCK, OTHER_ONE, AT_EDGE, has_no_packet},
		.cause = CAUSE(12, "CAPTURE",
			"No fault was found, but the capture at {s} missed packets that the other "
			"one has.",
			RD_POSSIBLE, "Packets missed", 0, ANYWHERE(0)),
		.traits = MISSED_BY_SENDER},
	{"missed-at-receiver", RD_SEV_NOTE, RD_LIKELY, AT_BOTH_ENDS(missed_at_receiver),
		.title = "the receiver's capture missed packets",
		.detail = "{count packet} that the receiver acknowledged and its capture lacks; "
			  "frames of the sender's capture",
		.filtered = OF_REQUESTS,
		.meaning = "the capture at the receiver lost frames, or does not get all that "
			   "arrives",
		.next = "look at the losses of that capture",
		.doubts = {has_no_sender, NO_CLOCK, AT_EDGE},
		.cause = CAUSE(12, "CAPTURE",
			"No fault was found, but the capture at {r} missed packets that {r} "
			"acknowledged.",
			RD_POSSIBLE, "Packets missed", 0, ANYWHERE(0)),
		.traits = MISSED_BY_RECEIVER},
	{0},
};

_Static_assert(sizeof(rules_of_ends) / sizeof(*rules_of_ends) == ENDS_RULES, "one each");

const struct rule rules_of_end_paths[] = {
	{"delay-varies", RD_SEV_NOTE, RD_LIKELY, 0, delay_varies, "the delay on the path varies",
		.meaning = "queues on the path: congestion, or pauses (PFC); or software "
			   "timestamps",
		.next = "compare with ECN marks and pause counters of that time",
		.doubts = {has_no_sender, NO_CLOCK, may_be_clock,
			IF(may_be_wrong_pairs, "the fastest packets may be paired wrongly")}},
	{0},
};

size_t rd_ends_rule_texts(struct rd_rule_text *texts, size_t most)
{
	return rule_texts(
		rules_of_end_paths, texts, most, rule_texts(rules_of_ends, texts, most, 0));
}
