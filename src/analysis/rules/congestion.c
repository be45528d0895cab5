/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules about congestion control, pauses and priorities. */
#include "look.h"

#define LATE_NS	    UINT64_C(200000) /* for a CNP: adapters take microseconds */
#define SILENT_PART 10		     /* of a usual pause of all traffic */
#define QUIET_QPS   3
#define QUIET_PART  20 /* of a usual wait for a response */

/* --- pauses ----------------------------------------------------------------------------------- */

/* The class with most pauses. */
static const struct rd_pause_class *busiest(const struct rd_pause_sender *s)
{
	const struct rd_pause_class *most = &s->classes[RD_PRIORITIES];

	for (unsigned int i = 0; i < RD_PRIORITIES; i++)
		if (s->classes[i].pauses.count > most->pauses.count)
			most = &s->classes[i];
	return most;
}

/* "priority 3", "priorities 3, 4", "all traffic": of those with pauses. */
static void classes_text(char *text, size_t capacity, unsigned int mask)
{
	bool many = mask & (mask - 1);
	size_t used;

	if (mask >> RD_PRIORITIES) {
		snprintf(text, capacity, "all traffic");
		return;
	}
	used = (size_t)snprintf(text, capacity, many ? "priorities" : "priority");
	for (unsigned int i = 0; i < RD_PRIORITIES && used < capacity; i++) {
		if (!(mask >> i & 1))
			continue;
		used += (size_t)snprintf(
			text + used, capacity - used, " %u%s", i, mask >> (i + 1) ? "," : "");
	}
}

static unsigned int paused_classes(const struct rd_pause_sender *s)
{
	unsigned int mask = 0;

	for (unsigned int i = 0; i < RD_PAUSE_CLASSES; i++)
		mask |= s->classes[i].pauses.count ? 1U << i : 0;
	return mask;
}

static void sender_where(struct rd_finding *f, const struct rd_pause_sender *s)
{
	char mac[RD_MAC_LEN];

	if (!s->has_mac)
		rd_finding_where(f, "a port of unknown MAC address");
	else if (*s->address)
		rd_finding_where(f, "%s (%s)", s->address, rd_mac_text(mac, s->mac));
	else
		rd_finding_where(f, "%s", rd_mac_text(mac, s->mac));
}

/* What the frames ask for; whether the other port obeys is not in them. */
static bool pause_frames(const struct look *l, struct rd_finding *f)
{
	const struct rd_pause_sender *s =
		l->nth < l->r->n_pause_senders ? &l->r->pause_senders[l->nth] : NULL;
	const struct rd_pause_class *c = s ? busiest(s) : NULL;
	char classes[48], speed[RD_UNITS_LEN], mac[RD_MAC_LEN];
	char all[RD_UNITS_LEN], longest[RD_UNITS_LEN];

	if (!s)
		return false;
	sender_where(f, s);
	finding_evidence(f, c->pauses.count ? &c->pauses : &c->resumes);
	f->evidence.count = s->frames;
	if (!paused_classes(s)) {
		f->severity = RD_SEV_NOTE;
		rd_finding_title(f, "pause frames that resume only, without a pause");
		f->detail = say(l, "{count frame}");
		return true;
	}
	classes_text(classes, sizeof(classes), paused_classes(s));
	rd_finding_title(f, "pause frames ask the other end of a link to stop: %s", classes);
	rd_finding_detail(
		f, "%llu pauses and %llu resumes", n(c->pauses.count), n(c->resumes.count));
	if (s->speed)
		finding_append(f, "at %s they ask for %s, %.1f %% of the time, the longest for %s",
			rd_fmt_bitrate(speed, (double)s->speed), rd_fmt_duration(all, c->paused_ns),
			100 * rd_pause_share(l->r, c), rd_fmt_duration(longest, c->longest_ns));
	else
		finding_append(f, "the speed of the link is unknown, so their time is, too");
	if (s->has_mac)
		rd_finding_filter(f, 0, "macc && eth.src == %s", rd_mac_text(mac, s->mac));
	else
		rd_finding_filter(f, 0, "macc");
	return true;
}

static bool paused(const struct look *l, struct rd_finding *f)
{
	const struct rd_held *h = l->s->held;
	char classes[48], all[RD_UNITS_LEN], longest[RD_UNITS_LEN];

	/* The other direction has the responses, which stop as well. */
	if (!h || l->s->traffic.payload_bytes < l->other->traffic.payload_bytes)
		return false;
	finding_evidence(f, &h->gaps);
	classes_text(classes, sizeof(classes), h->classes);
	rd_finding_title(f, "the packets of this sender wait during pauses of %s", classes);
	rd_finding_detail(f,
		"%llu gap%s of %s in all %s with pauses; the longest is %s, before frame %llu",
		n(h->gaps.count), rd_plural(h->gaps.count), rd_fmt_duration(all, h->ns),
		h->gaps.count == 1 ? "begins and ends" : "begin and end",
		rd_fmt_duration(longest, h->longest_ns), n(h->longest_frame));
	return true;
}

/* Matching gaps are not a proof: the sender may have had nothing to send. */
DOUBT(are_few_gaps, "there are less than three gaps", l->f->evidence.count < 3)

/* --- congestion notifications ----------------------------------------------------------------- */

/*
 * A receiver sends a CNP at once after a packet with a mark. Two CNPs without any mark at its port:
 * the first one may follow a mark from before the capture.
 */
WHETHER(is_unmarked, count(l, RD_INC_CNP) > 1 && !count(l, RD_INC_CE) && l->s->traffic.frames &&
			     l->c->local[!l->side] && !l->c->local[l->side] &&
			     capture_is_whole(l->r))

static bool congested(const struct look *l, struct rd_finding *f)
{
	const struct rd_incident *cnp = incident(l, RD_INC_CNP);
	double seconds = (double)(cnp->last_ns - cnp->first_ns) / 1e9;

	if (cnp->count > 100 && (double)cnp->count > 1000 * seconds) {
		f->severity = RD_SEV_PROBLEM;
		rd_finding_title(f, "a storm of congestion notifications for this sender");
	}
	return !is_unmarked(l);
}

WHETHER(lacks_cnps,
	count(l, RD_INC_CE) >= 10 && !count(l, RD_INC_CNP) && l->other->seen && is_rc(l))

/* Marks alone, where the other rules have nothing to say of CNPs. */
WHETHER(marked, !count(l, RD_INC_CNP) && !lacks_cnps(l))

static bool cnp_late(const struct look *l, struct rd_finding *f)
{
	const struct rd_congestion *c = l->s->congestion;
	char range[RANGE_LEN], time[RD_UNITS_LEN];

	if (!c || !c->reaction.n || c->reaction.p50 < LATE_NS)
		return false;
	finding_evidence(f, incident(l, RD_INC_CNP));
	range_text(range, &c->reaction);
	rd_finding_detail(f,
		"%s after the first packet with a congestion mark (median of %llu%s%s)",
		rd_fmt_duration(time, c->reaction.p50), n(c->reaction.n), *range ? "; " : "",
		range);
	return true;
}

DOUBT(is_one_reaction, "it happened once", l->s->congestion->reaction.n < 2)

/*
 * Downstream of the congested queue, where packets are marked, the rate is that of the queue.
 * Upstream of it, the rate may be limited by something else, below the rate that congestion control
 * allows.
 */
static bool cnp_without_effect(const struct look *l, struct rd_finding *f)
{
	const struct rd_congestion *c = l->s->congestion;
	char before[RD_UNITS_LEN], after[RD_UNITS_LEN];

	if (!c || c->episodes < 3 || c->rate_after < c->rate_before / 100 * 95 ||
		count(l, RD_INC_CE))
		return false;
	finding_evidence(f, incident(l, RD_INC_CNP));
	rd_finding_detail(f,
		"its rate is %s before CNPs, and at least %s after them (means of %llu times)",
		rd_fmt_bitrate(before, (double)c->rate_before),
		rd_fmt_bitrate(after, (double)c->rate_after), n(c->episodes));
	return true;
}

/* --- silence ---------------------------------------------------------------------------------- */

/* Of all QPs of this host that had requests then, how many; 0: they often wait as long. */
static unsigned int requesters(const struct rd_report *r, const char *host, const struct quiet *q)
{
	unsigned int all = 0, slow = 0;

	for (size_t i = 0; i < r->n_conversations; i++) {
		const struct rd_conversation *c = &r->conversations[i];

		if (strcmp(c->end[0].address, host) != 0 && strcmp(c->end[1].address, host) != 0)
			continue;
		for (unsigned int side = 0; side < 2; side++) {
			const struct rd_side *s = &c->side[side];
			const struct rd_latency *t = rd_side_latency(s, RD_LATENCY_MESSAGE);

			if (!t->n || s->traffic.first_ns > q->from_ns ||
				s->traffic.last_ns < q->to_ns)
				continue;
			all++;
			slow += t->p50 * QUIET_PART > q->to_ns - q->from_ns;
		}
	}
	return slow * 2 > all ? 0 : all;
}

/* The QPs of one host waited, whatever others did. */
static bool host_silence(const struct look *l, struct rd_finding *f)
{
	const struct host_paths *paths = l->a->paths;
	const struct host *h = paths->hosts;
	char host[RD_ADDRESS_LEN], other[RD_ADDRESS_LEN], took[RD_UNITS_LEN];
	const struct quiet *q;
	unsigned int all;

	for (unsigned int i = 1; i < paths->n_hosts; i++)
		if (paths->hosts[i].quiet->qps > h->quiet->qps)
			h = &paths->hosts[i];
	q = h->quiet;
	rd_address_text(host, h->net, h->address);
	all = q->qps < QUIET_QPS ? 0 : requesters(l->r, host, q);
	if (!all || q->qps * UINT64_C(2) < all)
		return false;
	f->evidence.count = 1;
	f->evidence.first_ns = q->from_ns;
	f->evidence.last_ns = q->to_ns;
	rd_finding_where(f, "%s", host);
	for (const struct host *o = h + 1; o < paths->hosts + paths->n_hosts; o++)
		if (o->quiet->qps == q->qps) /* all of them are between these two */
			rd_finding_where(
				f, "%s and %s", host, rd_address_text(other, o->net, o->address));
	rd_finding_title(f, "several QPs of a host waited for responses at the same time");
	rd_finding_detail(f, "%u of %u QPs with requests, for %s", q->qps, all,
		rd_fmt_duration(took, q->to_ns - q->from_ns));
	return true;
}

/* A pause that is far longer than the others, in which the job may compute. */
static bool is_all_traffic(const struct look *l)
{
	const uint64_t longest = l->r->totals.longest_silence_ns, n = l->a->stops;
	const uint64_t usual = n > 1 ? (l->a->stopped_ns - longest) / (n - 1) : 0;

	return longest / SILENT_PART >= (usual > WAITED_NS ? usual : WAITED_NS);
}

static bool silence(const struct look *l, struct rd_finding *f)
{
	const struct rd_totals *t = &l->r->totals;
	char longest[RD_UNITS_LEN];

	if (l->nth)
		return false;
	if (!is_all_traffic(l))
		return host_silence(l, f);
	f->evidence.count = t->silences;
	rd_finding_frame(f, t->silence_frame);
	rd_finding_title(f, "all traffic stopped while several QPs waited for responses");
	rd_finding_detail(f, "%llu pause%s, the longest %s", n(t->silences), rd_plural(t->silences),
		rd_fmt_duration(longest, t->longest_silence_ns));
	return true;
}

DOUBT(has_missed_any, "the capture missed packets", l->missed)

/* --- priorities ------------------------------------------------------------------------------- */

/* Whether nearly all packets of a side have one DSCP. */
static bool has_one_dscp(const struct rd_side *s)
{
	return s->seen && s->priority.dscp >= 0 && s->priority.others < s->traffic.frames / 16 + 1;
}

static bool has_one_pcp(const struct rd_side *s)
{
	return s->seen && s->priority.pcp >= 0 && !s->priority.pcp_varies && !s->priority.untagged;
}

/* Whether a side sends nothing but ACKs and NAKs, to `to`. */
static bool only_acknowledges(const struct rd_side *s, const struct rd_side *to)
{
	return !s->requests && !to->read_responses && !rd_side_verb(to, RD_VERB_ATOMIC)->messages;
}

/* Of requests and their responses; CNPs have a DSCP of their own on purpose. */
static bool priorities_differ(const struct look *l, struct rd_finding *f)
{
	const struct rd_priority *own = &l->s->priority, *other = &l->other->priority;
	bool dscps = has_one_dscp(l->s) && has_one_dscp(l->other) && own->dscp != other->dscp;
	bool pcps = has_one_pcp(l->s) && has_one_pcp(l->other) && own->pcp != other->pcp;

	if (l->side || l->c->transport == RD_UD || (!dscps && !pcps))
		return false;
	f->evidence.count = l->s->traffic.frames + l->other->traffic.frames;
	rd_finding_frame(f, l->s->traffic.first_frame);
	rd_finding_frame(f, l->other->traffic.first_frame);
	rd_finding_title(f, "the two directions have different priorities: %s %d and %d",
		dscps ? "DSCP" : "VLAN priority", dscps ? own->dscp : own->pcp,
		dscps ? other->dscp : other->pcp);
	if (only_acknowledges(l->other, l->s) || only_acknowledges(l->s, l->other)) {
		f->severity = RD_SEV_NOTE;
		f->meaning =
			"one direction has ACKs only, for which an adapter may have a DSCP of "
			"its own (register ROCE_ACCL, ack_dscp_force), or a switch rewrites it";
		f->next =
			"look whether that priority has the PFC and the bandwidth that ACKs need; "
			"ConnectX: mlxreg --reg_name ROCE_ACCL --get";
	}
	return true;
}

/* Of a pair that was found by its PSNs or ports. */
DOUBT_LIKELY(
	may_be_other_qp, "the other direction may be of another QP", l->c->pairing < RD_PAIR_CM)

/* Switches may have other settings than the port. */
static bool lossy_priority(const struct look *l, struct rd_finding *f)
{
	const struct rd_priority *p = &l->s->priority;
	char with[48];

	if (!l->s->seen || p->class < 0 || !p->pfc || p->pfc >> p->class & 1)
		return false;
	classes_text(with, sizeof(with), p->pfc);
	f->evidence.count = l->s->traffic.frames;
	rd_finding_frame(f, l->s->traffic.first_frame);
	rd_finding_title(f, "RDMA packets have priority %d, but PFC is on for %s", p->class, with);
	if (p->pcp >= 0 && !p->untagged)
		rd_finding_detail(f, "%llu frame%s with DSCP %d and VLAN priority %d",
			n(l->s->traffic.frames), rd_plural(l->s->traffic.frames), p->dscp, p->pcp);
	else
		rd_finding_detail(f, "%llu frame%s with DSCP %d", n(l->s->traffic.frames),
			rd_plural(l->s->traffic.frames), p->dscp);
	return true;
}

const struct rule rules_of_pauses[] = {
	{"pause-frames", RD_SEV_WARNING, RD_CERTAIN, 0, pause_frames,
		.meaning = "a host: its NIC cannot take packets fast enough (PCIe, memory, IOMMU); "
			   "a switch: the port behind it is congested",
		.next = "compare the pause counters of the ports (rx_prioN_pause, tx_prioN_pause); "
			"without such frames a link may be paused as well, since most adapters do "
			"not pass them on",
		.traits = HOLDS_BACK,
		.cause = CAUSE(7, "PAUSE", NULL, RD_LIKELY, "Pause frames", 0, ANYWHERE(0))},
	{"silence", RD_SEV_WARNING, RD_LIKELY, 0, silence,
		.meaning = "a port that was paused (PFC storm) or whose link went down for a "
			   "moment, a host or NIC that stood still, or a switch that dropped "
			   "packets of all QPs",
		.next = "look at link_downed, and at rx_prio*_pause counters of the NIC and of the "
			"switch ports",
		.doubts = {CAPTURE_LOST, has_missed_any,
			IF(is_all_traffic, "the capture, or its clock, may have stopped")},
		.cause = CAUSE(8, "SILENCE", "Several QPs waited for responses at the same time.",
			RD_POSSIBLE, "Pauses", 0, ANYWHERE(RD_PLACE_ALL))},
	{0},
};

#define CNPS	    OF_RESPONSES, "infiniband.bth.opcode == 0x81"
#define CNPS_DETAIL "{count CNP} for its {frames frame}; {ecn_ce} of those marked here{rates}"
#define MARKED	    OF_REQUESTS, "(ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3)"

const struct rule rules_of_congestion[] = {
	{"cnp", RD_SEV_WARNING, RD_CERTAIN, HAPPENED(CNP), congested,
		"congestion notifications ask this sender to slow down", CNPS_DETAIL, CNPS,
		.meaning = "switches on the path mark packets: the path is congested (incast, slow "
			   "link)",
		.next = "look at which senders share the congested port; check the DCQCN settings",
		.traits = HOLDS_BACK, .doubts = {COUNTED_TWICE},
		.cause = CAUSE(7, "CONGESTED",
			"{r} reports congestion on the path from {s}, and asks it to slow down.",
			RD_LIKELY, "Congestion notifications", 0, ANYWHERE(FA)),
		.several = "{r} reports congestion on the path from several hosts, and asks them "
			   "to slow down."},
	{"cnp-unmarked", RD_SEV_WARNING, RD_LIKELY, HAPPENED(CNP), NULL,
		"the receiver asks this sender to slow down, but no packet reached it with a "
		"congestion mark",
		CNPS_DETAIL, CNPS, .when = is_unmarked,
		.meaning = "the receiver's NIC is congested itself (PCIe, memory, a full receive "
			   "buffer), or its settings make it send CNPs without marks",
		.next = "look at the receive buffer and PCIe counters of the receiver's NIC, and "
			"at its settings of congestion control",
		.traits = HOLDS_BACK,
		.cause = CAUSE(6, "CNP",
			"{r} asks {s} to slow down, but no packet reached it with a congestion "
			"mark.",
			RD_LIKELY, "Congestion notifications", 0, ANYWHERE(RN)),
		.surer = "counters of {r}, if np_cnp_sent grows there and "
			 "np_ecn_marked_roce_packets does not"},
	{"ecn-no-cnp", RD_SEV_WARNING, RD_LIKELY, HAPPENED(CE), NULL,
		"the receiver sends no CNPs for frames with congestion marks",
		"{count frame} marked \"congestion experienced\", no CNP was captured", MARKED,
		.when = lacks_cnps,
		.meaning = "congestion control is off at the receiver, or CNPs are filtered on the "
			   "path",
		.next = "check roce_np enable for this priority at the receiver",
		.doubts = {CAPTURE_LOST, MISSED_MANY}, .traits = HOLDS_BACK,
		.cause = CAUSE(8, "CONGESTED",
			"The path from {s} to {r} is congested, and {r} does not ask {s} to slow "
			"down.",
			RD_LIKELY, "Frames marked", 0, ANYWHERE(RN | FA)),
		.several =
			"The path to {r} is congested, and {r} does not ask senders to slow down."},
	{"ecn-ce", RD_SEV_NOTE, RD_CERTAIN, HAPPENED(CE), NULL,
		"packets of this sender have congestion marks",
		"{count} of {frames frame} marked \"congestion experienced\"; no CNP was captured",
		MARKED, .when = marked,
		.meaning = "a queue on the path was longer than the limit from which a switch "
			   "marks packets",
		.next = "capture both directions, to see whether the receiver sends CNPs",
		.traits = HOLDS_BACK},
	{"paused", RD_SEV_WARNING, RD_LIKELY, 0, paused, .filtered = OF_REQUESTS,
		.meaning = "the port at the other end of the paused link holds back packets of "
			   "that priority",
		.next = "see the finding about the sender of the pause frames; look at what slows "
			"it down",
		.doubts = {INCOMPLETE, are_few_gaps}, .traits = HOLDS_BACK,
		.cause = CAUSE(8, "PAUSE",
			"Packets from {s} to {r} wait while a port on their path is paused.",
			RD_LIKELY, "Gaps", 0, ANYWHERE(SN | FA | RN))},
	{"cnp-late", RD_SEV_WARNING, RD_LIKELY, 0, cnp_late, "the receiver sends CNPs late", NULL,
		CNPS,
		.meaning = "the receiver's minimum time between CNPs is long, its NIC is "
			   "overloaded, or its CNPs wait in a queue of the path",
		.next = "check min_time_between_cnps and the CNP's DSCP and priority at the "
			"receiver",
		/* A CNP that was not captured makes the time to the next one longer. */
		.doubts = {INCOMPLETE, UNDECLARED, is_one_reaction}, .traits = HOLDS_BACK,
		.cause = CAUSE(8, "CONGESTED",
			"The path from {s} to {r} is congested, and {r} asks {s} late to slow "
			"down.",
			RD_LIKELY, "Congestion notifications", 0, ANYWHERE(RN | FA)),
		.several = "The path to {r} is congested, and {r} asks senders late to slow down."},
	{"cnp-no-effect", RD_SEV_NOTE, RD_POSSIBLE, 0, cnp_without_effect,
		"CNPs do not slow this sender down", NULL, CNPS,
		.meaning = "congestion control is off at the sender, or its rate is limited by "
			   "something else",
		.next = "check roce_rp enable for this priority at the sender, and whether "
			"rp_cnp_handled grows (timeouts count there, too)"},
	{"priorities-differ", RD_SEV_WARNING, RD_CERTAIN, 0, priorities_differ, NULL,
		"at this capture point; {frames frame} from here, {other_frames frame} of the "
		"other direction",
		OF_REQUESTS,
		.meaning = "the traffic class is set at one end only, or a switch rewrites it: "
			   "responses in a priority without PFC are lost first",
		.next = "compare the traffic class of both ends (cma_roce_tos, the GID's default), "
			"and what the switches trust",
		.doubts = {may_be_other_qp},
		.cause = CAUSE(8, "PRIORITY", NULL, RD_LIKELY, "Frames of both directions", 0,
			ANYWHERE(SH | FA | RH))},
	{"lossy-priority", RD_SEV_WARNING, RD_LIKELY, 0, lossy_priority, .filtered = OF_REQUESTS,
		.meaning = "the application or the CM's default sets another traffic class than "
			   "the one that PFC is for, so that a full queue drops the packets",
		.next = "compare the traffic class of the QP with PFC and trust of the ports "
			"(rdmadump info, dcb) and of the switches",
		.cause = CAUSE(8, "PRIORITY",
			"Packets from {s} to {r} have a priority without PFC, where others have "
			"it.",
			RD_LIKELY, "Frames", 0, SH | FA, SH, SH | FA)},
	{0},
};
