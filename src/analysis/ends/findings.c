/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The findings of two captures of the same traffic: one row of a table for each rule. */
#include "ends.h"
#include <rdmadump/units.h>
#include <stdlib.h>

#define MISSED_BY_CHANCE 0.05
#define RISES_MIN	 3 /* of a delay; more than a clock is set */

struct sight {
	const struct sides *sides; /* of each capture alone */
	const struct trust *trust;
	const struct rd_path *p;
	const struct rd_path_qp *w; /* NULL for rules over a path */
	uint64_t evicted;	    /* packets of all paths, see rd_ends_report */
	uint64_t first_ns, last_ns; /* the same */
	uint64_t clock_steps_ns, edge_ns;
	bool proven, both_ways, offset_known;
};

struct ends_rule {
	struct rule_head head;
	bool of_qp;
	bool (*applies)(const struct sight *s, struct rd_finding *f);
};

static void filter_qp(const struct sight *s, struct rd_finding *f, uint64_t first)
{
	rd_finding_filter(f, first, "infiniband.bth.destqp == 0x%06x", s->w->qp);
}

/* Whether the file says that its capture lost nothing. */
static bool declared_whole(const struct rd_report *r)
{
	for (size_t i = 0; i < r->n_files; i++)
		if (!r->files[i].dropped_known || r->files[i].dropped)
			return false;
	return r->n_files > 0;
}

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
	if (declared_whole(s->sides[tap].report))
		return true;
	for (; t->tested && runs && chance >= MISSED_BY_CHANCE; runs--)
		chance *= sent / (sent + (double)t->tested);
	return chance < MISSED_BY_CHANCE;
}

/* This direction in the report of one capture alone; NULL: it is absent. */
static const struct rd_side *side_at(const struct sight *s, enum rd_tap tap)
{
	unsigned int side;
	const struct rd_conversation *c =
		sides_find(&s->sides[tap], s->p->from, s->p->to, s->w->qp, s->w->network, &side);

	return c ? &c->side[side] : NULL;
}

static uint64_t count_at(const struct sight *s, enum rd_tap tap, enum rd_incident_kind kind)
{
	const struct rd_side *side = side_at(s, tap);

	return side ? rd_side_incident(side, kind)->count : 0;
}

/* Packets whose headers were damaged on the path arrive as others. */
static bool may_be_damaged(const struct sight *s, uint64_t packets)
{
	const struct rd_totals *t = &s->sides[!s->p->sender].report->totals;

	return t->icrc_trusted && t->icrc_bad - t->icrc_doubted >= packets;
}

/*
 * Whether all of it is so near the first or last moment of the time of both captures that the other
 * one may not have run: a packet may take as much longer than the usual ones as any other did, and
 * the clocks may differ from the first estimate.
 */
static bool is_at_edge(const struct sight *s, const struct rd_incident *e)
{
	const uint64_t margin = s->p->variation.max + s->edge_ns;

	return e->last_ns <= s->first_ns + margin || e->first_ns + margin >= s->last_ns;
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

/* Whether the receiver's capture shows that it would have had these packets. */
static bool is_lost(const struct sight *s)
{
	const struct rd_incident *e = &s->w->lost;
	const enum rd_tap receiver = !s->p->sender;

	/* Where none arrives of a QP or a kind, the capture may not take these packets at all. */
	if (!s->w->arrived || s->w->lost_kind)
		return false;
	if (s->w->asked_for)
		return !may_be_lost_downstream(s, s->w->asked_for);
	return !is_at_edge(s, e) && too_many_to_be_missed(s, receiver, s->w->lost_runs);
}

static bool lost_between(const struct sight *s, struct rd_finding *f)
{
	const struct rd_incident *e = &s->w->lost;
	char asked[RD_UNITS_LEN], share[RD_UNITS_LEN];

	if (!e->count)
		return false;
	finding_evidence(f, e);
	if (!s->p->sender_known || s->evicted || may_be_damaged(s, e->count) || !is_lost(s))
		finding_lower(f, RD_POSSIBLE);
	if (!s->w->asked_for)
		strcpy(asked, "none of them");
	else if (s->w->asked_for >= e->count)
		strcpy(asked, e->count == 1 ? "it" : "all of them");
	else
		snprintf(asked, sizeof(asked), "%llu of them", n(s->w->asked_for));
	rd_finding_title(f, "packets are lost between the two capture points");
	rd_finding_detail(f,
		"%llu packet%s of %llu that were sent (%s) did not arrive, and the receiver "
		"asked for %s; frames of the sender's capture",
		n(e->count), rd_plural(e->count), n(s->w->sent),
		share_text(share, e->count, s->w->sent), asked);
	filter_qp(s, f, e->first_frame);
	return true;
}

static bool lost_or_missed(const struct sight *s, struct rd_finding *f)
{
	const struct rd_incident *e = &s->w->unclear;
	char share[RD_UNITS_LEN];

	if (!e->count)
		return false;
	finding_evidence(f, e);
	rd_finding_title(f, "packets are lost between the two capture points, or the receiver's "
			    "capture missed them");
	rd_finding_detail(f,
		"%llu packet%s of %llu that were sent (%s); nothing shows whether they "
		"arrived, and that capture missed others; frames of the sender's capture",
		n(e->count), rd_plural(e->count), n(s->w->sent),
		share_text(share, e->count, s->w->sent));
	filter_qp(s, f, e->first_frame);
	return true;
}

static bool missed_at_receiver(const struct sight *s, struct rd_finding *f)
{
	const struct rd_incident *e = &s->w->missed_at_receiver;

	if (!e->count)
		return false;
	finding_evidence(f, e);
	if (!s->p->sender_known || is_at_edge(s, e))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "the receiver's capture missed packets");
	rd_finding_detail(f,
		"%llu packet%s that the receiver acknowledged and its capture lacks; frames of the "
		"sender's capture",
		n(e->count), rd_plural(e->count));
	filter_qp(s, f, e->first_frame);
	return true;
}

/* Both captures alone show that they never had a packet before the receiver asked for it. */
static bool lost_in_sender(const struct sight *s, struct rd_finding *f)
{
	const enum rd_tap sender = s->p->sender;
	uint64_t here = count_at(s, sender, RD_INC_LOST_UPSTREAM);
	uint64_t there = count_at(s, !sender, RD_INC_LOST_UPSTREAM), late;

	if (!s->p->sender_known || !here || !there)
		return false;
	/* What came late or damaged was not lost there. */
	late = count_at(s, sender, RD_INC_REORDERED) + count_at(s, !sender, RD_INC_REORDERED) +
	       count_at(s, sender, RD_INC_ICRC) + count_at(s, !sender, RD_INC_ICRC);
	if (late >= (here < there ? here : there))
		return false;
	finding_evidence(f, rd_side_incident(side_at(s, sender), RD_INC_LOST_UPSTREAM));
	f->evidence.count = here < there ? here : there;
	if (late)
		finding_lower(f, RD_POSSIBLE);
	if (!too_many_to_be_missed(s, sender, f->evidence.count))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "packets are lost inside the sender");
	rd_finding_detail(f,
		"%llu packet%s that neither capture had before the receiver asked for them; frames "
		"of the sender's capture",
		n(f->evidence.count), rd_plural(f->evidence.count));
	filter_qp(s, f, f->evidence.n_frames ? f->evidence.frames[0] : 0);
	return true;
}

static bool duplicated_between(const struct sight *s, struct rd_finding *f)
{
	const struct rd_incident *e = &s->w->duplicated;

	if (!e->count)
		return false;
	finding_evidence(f, e);
	/*
	 * Without IP ids that differ, a retransmission looks the same. With them, it may be a copy
	 * that was made in the sender, if its capture may have missed one of the two.
	 */
	if (!s->p->sender_known ||
		(!(s->p->ids_tell && trusted(&s->trust[s->p->sender])) &&
			!too_many_to_be_missed(s, s->p->sender, s->w->duplicated_runs)))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "packets are duplicated on the path");
	rd_finding_detail(f,
		"%llu packet%s arrived once more than they were sent%s; frames of the "
		"receiver's capture",
		n(e->count), rd_plural(e->count), s->p->ids_tell ? ", with the same IP id" : "");
	filter_qp(s, f, e->first_frame);
	return true;
}

/* Whether frames of a capture are not in the order of their times. */
static bool goes_back(const struct sight *s)
{
	return s->sides[RD_TAP_A].report->totals.backwards ||
	       s->sides[RD_TAP_B].report->totals.backwards;
}

/* Which copy of a retransmission was late is not known, only that the order is another one. */
static bool order_is_unclear(const struct sight *s, struct rd_finding *f)
{
	if (!s->w->order_unclear)
		return false;
	finding_lower(f, RD_POSSIBLE);
	f->evidence.count = s->w->order_unclear;
	rd_finding_title(
		f, "retransmitted packets, or packets beside them, are reordered on the path");
	rd_finding_detail(f,
		"%llu of %llu packets arrived after later ones, if the copies of each packet "
		"arrived in the order in which they were sent",
		n(s->w->order_unclear), n(s->w->arrived));
	filter_qp(s, f, 0);
	return true;
}

static bool reordered_between(const struct sight *s, struct rd_finding *f)
{
	char share[RD_UNITS_LEN];

	if (!s->w->reordered)
		return order_is_unclear(s, f);
	f->evidence.count = s->w->reordered;
	/*
	 * Equal times prove no order. And a packet whose first copy is lost looks late if the
	 * sender's capture missed its retransmission.
	 */
	if (!s->p->sender_known || !s->w->reordered_proven || goes_back(s) ||
		(!s->p->ids_tell && !trusted(&s->trust[s->p->sender])))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "packets are reordered on the path");
	rd_finding_detail(f, "%s%llu of %llu packets (%s) arrived after later ones%s",
		s->w->order_unknown ? "at least " : "", n(s->w->reordered), n(s->w->arrived),
		share_text(share, s->w->reordered, s->w->arrived),
		s->p->ids_tell ? "" : ", retransmissions left aside");
	filter_qp(s, f, 0);
	return true;
}

/* Packets that the receiver requests again though its own capture has them. */
static bool lost_downstream(const struct sight *s, struct rd_finding *f)
{
	const struct rd_side *side = side_at(s, !s->p->sender);
	const struct rd_incident *e = side ? rd_side_incident(side, RD_INC_LOST_DOWNSTREAM) : NULL;

	if (!e || !e->count)
		return false;
	finding_evidence(f, e);
	/*
	 * A NAK may be due to packets that came late, that this capture lacks, or that follow one
	 * with an RNR NAK: rxe_resp.c requests that one once more.
	 */
	if (!s->p->sender_known || !trusted(&s->trust[!s->p->sender]) || s->w->reordered ||
		s->w->order_unclear || goes_back(s) || rd_side_incident(side, RD_INC_RNR)->count ||
		rd_side_incident(side, RD_INC_REORDERED)->count)
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "packets are lost downstream of the receiver's port");
	rd_finding_detail(f,
		"%llu time%s the receiver requested packets again that its own capture has; frames "
		"of the receiver's capture",
		n(e->count), rd_plural(e->count));
	filter_qp(s, f, e->first_frame);
	return true;
}

static bool missed_at_sender(const struct sight *s, struct rd_finding *f)
{
	const struct rd_incident *e = &s->w->missed;

	if (!e->count)
		return false;
	finding_evidence(f, e);
	/* Where it has none of a QP's packets, it may have ended before, or not take them. */
	if (!s->p->sender_known || !s->w->arrived || may_be_damaged(s, e->count) ||
		is_at_edge(s, e))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "the sender's capture missed packets");
	rd_finding_detail(f,
		"%llu packet%s arrived that the capture at the sender lacks; frames of the "
		"receiver's capture",
		n(e->count), rd_plural(e->count));
	filter_qp(s, f, e->first_frame);
	return true;
}

/*
 * No line fits the times of both directions: a clock was set, or pairs are wrong. Or there are only
 * packets with others of the same bytes: one capture may have begun later than it seems.
 */
static bool is_inconsistent(const struct sight *s)
{
	return !s->proven || (s->both_ways && !s->offset_known);
}

static bool delay_varies(const struct sight *s, struct rd_finding *f)
{
	const struct rd_latency *v = &s->p->variation;
	char median[RD_UNITS_LEN], p99[RD_UNITS_LEN], most[RD_UNITS_LEN];

	if (v->p99 < RD_ENDS_LATE_NS + s->clock_steps_ns || is_inconsistent(s))
		return false;
	f->evidence.count = v->n;
	/*
	 * With one direction, a clock that was set looks the same; with both it does as far as they
	 * have delays, but not again and again. And so do packets of the same bytes of which each
	 * capture missed another one: a wrong pair may seem fast, and then all others are slow.
	 */
	if (!s->p->sender_known || !s->both_ways || s->p->rises < RISES_MIN ||
		v->p50 >= RD_ENDS_LATE_NS ||
		(!s->p->ids_tell &&
			!(trusted(&s->trust[RD_TAP_A]) && trusted(&s->trust[RD_TAP_B]))))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_frame(f, s->p->slowest_frame);
	rd_finding_title(f, "the delay on the path varies");
	rd_finding_detail(f,
		"one-way delay above the shortest: median %s, 99th percentile %s, maximum %s; a "
		"frame of the receiver's capture",
		rd_fmt_duration(median, v->p50), rd_fmt_duration(p99, v->p99),
		rd_fmt_duration(most, v->max));
	return true;
}

static const struct ends_rule ends_rules[] = {
	{{"lost-between", RD_SEV_PROBLEM, RD_LIKELY,
		 "a switch or router on the path drops: congestion without PFC on this priority, a "
		 "bad cable, a wrong MTU or VLAN; or the receiver's capture missed them",
		 "look at discards, CRC errors and PFC counters of every port between the two "
		 "hosts, and at what the receiver's capture lost"},
		true, lost_between},
	{{"lost-in-sender", RD_SEV_PROBLEM, RD_LIKELY,
		 "the sending NIC or host drops packets after the point where it captures, or its "
		 "capture and the path both lost them",
		 "look at tx_discards_phy, at errors and at the egress policy of the sender's "
		 "port"},
		true, lost_in_sender},
	{{"lost-downstream-of-receiver", RD_SEV_PROBLEM, RD_LIKELY,
		 "the receiving NIC or host drops: no room in its buffers, a bad ICRC, a filter",
		 "look at out_of_buffer, rx_discards_phy and rx_icrc_encapsulated of the receiver"},
		true, lost_downstream},
	{{"lost-or-missed", RD_SEV_WARNING, RD_POSSIBLE,
		 "a switch drops, or the receiver's capture does",
		 "capture at the receiver without losses: a larger buffer, a filter, a snapshot "
		 "length"},
		true, lost_or_missed},
	{{"duplicated-between", RD_SEV_WARNING, RD_LIKELY,
		 "a mirror session that copies a frame at two ports, or a loop; or the sender's "
		 "capture missed a retransmission",
		 "look for mirror sessions and loops on the switches between"},
		true, duplicated_between},
	{{"reordered-between", RD_SEV_WARNING, RD_LIKELY,
		 "packets of one QP take several paths: adaptive routing, spraying, a LAG that "
		 "hashes per packet; or a capture that merges several queues out of order",
		 "hash by UDP source port, or use NICs that accept packets out of order"},
		true, reordered_between},
	{{"missed-at-sender", RD_SEV_NOTE, RD_LIKELY,
		 "the capture at the sender lost frames, or does not get all that its NIC sends",
		 "look at the losses of that capture"},
		true, missed_at_sender},
	{{"missed-at-receiver", RD_SEV_NOTE, RD_LIKELY,
		 "the capture at the receiver lost frames, or does not get all that arrives",
		 "look at the losses of that capture"},
		true, missed_at_receiver},
	{{"delay-varies", RD_SEV_NOTE, RD_LIKELY,
		 "queues on the path: congestion, or pauses (PFC); or software timestamps",
		 "compare with ECN marks and pause counters of that time"},
		false, delay_varies},
	{{0}, false, NULL},
};

/* The process of the QP that sends, or of the one that receives. */
static void add_owner(const struct sight *s, struct rd_finding *f, bool receiver)
{
	const char *does = receiver ? "received" : "sent";
	char text[RD_OWNER_TEXT_MAX];
	bool not_listed;
	uint32_t qp;
	const struct rd_owner *owner = sides_owner(s->sides, s->p->from, s->p->to, s->w->qp,
		s->w->network, receiver, &qp, &not_listed);

	if (owner)
		finding_append(f, "%s by %s, QP 0x%x", does, rd_owner_text(text, owner), qp);
	else if (not_listed)
		finding_append(f, "%s by QP 0x%x, whose owner is unknown", does, qp);
}

#define FINDINGS_MAX 1024

/* What the QPs of a rule's findings sent, for the share of it. */
static void add_concern(struct concern *c, const struct ends_rule *rule, const struct sight *s)
{
	const struct rd_side *side = s->w ? side_at(s, s->p->sender) : NULL;

	c->rule = rule->head.key;
	c->qps++;
	c->packets += s->w ? s->w->sent : 0;
	for (unsigned int k = 0; side && k < RD_VERB_COUNT; k++)
		c->messages += rd_side_verb(side, k)->messages;
	c->delayed += side ? rd_side_incident(side, RD_INC_DELAYED)->count : 0;
}

void ends_where(char out[ENDS_WHERE_LEN], const struct rd_path *p, const struct rd_path_qp *w)
{
	int n = snprintf(out, ENDS_WHERE_LEN, "%s -> %s", p->from, p->to);

	if (w)
		n += snprintf(out + n, ENDS_WHERE_LEN - (size_t)n, " QP 0x%x", w->qp);
	if (p->shared)
		snprintf(out + n, ENDS_WHERE_LEN - (size_t)n, " (network %u)", p->network);
}

static void try_rule(struct rd_findings *list, const struct ends_rule *rule, const struct sight *s,
	struct concern *concern)
{
	struct rd_finding *f = finding_begin(list, &rule->head);
	char where[ENDS_WHERE_LEN];

	if (!f)
		return;
	if (!rule->applies(s, f)) {
		rd_findings_drop_last(list);
		return;
	}
	if (is_inconsistent(s) || s->p->doubtful)
		finding_lower(f, RD_POSSIBLE);
	ends_where(where, s->p, s->w);
	rd_finding_where(f, "%s", where);
	if (s->w) {
		add_owner(s, f, false);
		add_owner(s, f, true);
	}
	add_concern(concern, rule, s);
	findings_bound(list, FINDINGS_MAX);
}

bool ends_findings(struct rd_ends_report *r, const struct sides sides[RD_TAPS],
	const struct trust trust[RD_TAPS], struct concern concerns[ENDS_RULES])
{
	_Static_assert(sizeof(ends_rules) / sizeof(*ends_rules) == ENDS_RULES + 1, "one each");

	for (size_t i = 0; i < r->n_paths; i++)
		for (const struct ends_rule *rule = ends_rules; rule->head.key; rule++) {
			struct sight s = {.sides = sides,
				.trust = trust,
				.p = &r->paths[i],
				.evicted = r->evicted,
				.first_ns = r->first_ns,
				.last_ns = r->last_ns,
				.clock_steps_ns = r->clock_steps_ns,
				.edge_ns = r->edge_ns,
				.proven = r->proven,
				.both_ways = r->both_ways,
				.offset_known = r->offset_known};

			struct concern *concern = &concerns[rule - ends_rules];

			if (!rule->of_qp)
				try_rule(&r->findings, rule, &s, concern);
			for (size_t k = 0; rule->of_qp && k < r->paths[i].n_qps; k++) {
				s.w = &r->paths[i].qps[k];
				try_rule(&r->findings, rule, &s, concern);
			}
		}
	return findings_finish(&r->findings, FINDINGS_MAX);
}

/* --- what the captures alone advise ----------------------------------------------------------- */

/* Whether a conversation was captured at both ends. */
static bool has_both(const struct rd_ends_report *e, struct pairs *pairs, const struct rd_report *r,
	unsigned int conversation)
{
	const struct rd_conversation *c = conversation_of(r, conversation);

	return c && pairs_find(pairs, e, c->a.address, c->b.address, c->network);
}

bool ends_answer(const char *rule)
{
	static const char *const rules[] = {"lost-upstream", "lost-downstream",
		"responses-lost-upstream", "responses-lost-downstream", "unreliable-lost",
		"reordered", "reordered-downstream", "duplicated", "unseen"};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (!strcmp(rule, rules[i]))
			return true;
	return false;
}

static void refer(const struct rd_ends_report *e, struct pairs *pairs, const struct rd_report *r,
	struct rd_finding *f)
{
	if (ends_answer(f->rule) && has_both(e, pairs, r, f->conversation))
		f->next = "see what both ends show of this path, above";
}

int rd_ends_refer(const struct rd_ends_report *e, struct rd_report *const reports[RD_TAPS])
{
	struct pairs pairs;

	pairs_make(&pairs, e);
	for (int end = 0; end < RD_TAPS; end++) {
		struct rd_report *r = reports[end];

		for (size_t i = 0; i < r->findings.n; i++)
			refer(e, &pairs, r, &r->findings.finding[i]);
		if (has_both(e, &pairs, r, r->verdict.conversation) && rd_verdict_refer(r) < 0)
			return -1;
	}
	return 0;
}
