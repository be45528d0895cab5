/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over one side of a conversation: congestion, refused requests, endings. */
#include "look.h"

/* --- the network ------------------------------------------------------------------------------ */

/*
 * A receiver sends a CNP at once after a packet with a mark. Two CNPs without any mark at its port:
 * the first one may follow a mark from before the capture.
 */
static bool is_unmarked(const struct look *l)
{
	return count(l, RD_INC_CNP) > 1 && !count(l, RD_INC_CE) && l->s->frames &&
	       l->c->local[!l->side] && !l->c->local[l->side] && capture_is_whole(l->r);
}

static void put_cnps(const struct look *l, struct rd_finding *f)
{
	const struct rd_incident *cnp = incident(l, RD_INC_CNP);
	char rates[RATES_LEN];

	finding_evidence(f, cnp);
	rd_finding_detail(f, "%llu CNP%s for its %llu frame%s; %llu of those marked here%s",
		n(cnp->count), rd_plural(cnp->count), n(l->s->frames), rd_plural(l->s->frames),
		n(count(l, RD_INC_CE)), rates_text(rates, l));
	filter_responses(l, f, "infiniband.bth.opcode == 0x81");
}

static bool congested(const struct look *l, struct rd_finding *f)
{
	const struct rd_incident *cnp = incident(l, RD_INC_CNP);
	double seconds = (double)(cnp->last_ns - cnp->first_ns) / 1e9;

	if (!cnp->count || is_unmarked(l))
		return false;
	put_cnps(l, f);
	if (cnp->count > 100 && (double)cnp->count > 1000 * seconds)
		f->severity = RD_SEV_PROBLEM;
	rd_finding_title(f, f->severity == RD_SEV_PROBLEM
				    ? "a storm of congestion notifications for this sender"
				    : "congestion notifications ask this sender to slow down");
	return true;
}

static bool slowed_without_marks(const struct look *l, struct rd_finding *f)
{
	if (!is_unmarked(l))
		return false;
	put_cnps(l, f);
	rd_finding_title(f, "the receiver asks this sender to slow down, but no packet reached it "
			    "with a congestion mark");
	return true;
}

#define MARKED "(ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3)"

static bool lacks_cnps(const struct look *l)
{
	return count(l, RD_INC_CE) >= 10 && !count(l, RD_INC_CNP) && l->other->seen && is_rc(l);
}

static bool marked_without_cnp(const struct look *l, struct rd_finding *f)
{
	if (!lacks_cnps(l))
		return false;
	finding_evidence(f, incident(l, RD_INC_CE));
	rd_finding_title(f, "the receiver sends no CNPs for frames with congestion marks");
	rd_finding_detail(f, "%llu frame%s marked \"congestion experienced\", no CNP was captured",
		n(count(l, RD_INC_CE)), rd_plural(count(l, RD_INC_CE)));
	rd_finding_filter(f, 0, "infiniband.bth.destqp == 0x%06x && " MARKED, l->to->qp);
	return true;
}

/* Marks alone, where the other rules have nothing to say of CNPs. */
static bool marked(const struct look *l, struct rd_finding *f)
{
	if (!count(l, RD_INC_CE) || count(l, RD_INC_CNP) || lacks_cnps(l))
		return false;
	finding_evidence(f, incident(l, RD_INC_CE));
	rd_finding_title(f, "packets of this sender have congestion marks");
	rd_finding_detail(f,
		"%llu of %llu frame%s marked \"congestion experienced\"; no CNP was captured",
		n(count(l, RD_INC_CE)), n(l->s->frames), rd_plural(l->s->frames));
	if (l->to->qp != RD_QP_UNKNOWN)
		rd_finding_filter(f, 0, "infiniband.bth.destqp == 0x%06x && " MARKED, l->to->qp);
	return true;
}

/* --- refused requests ------------------------------------------------------------------------- */

static bool not_ready(const struct look *l, struct rd_finding *f)
{
	const uint64_t pages = count(l, RD_INC_RNR_PAGES);
	char delay[RD_UNITS_LEN];

	if (!count(l, RD_INC_RNR))
		return false;
	finding_evidence(f, incident(l, RD_INC_RNR));
	rd_finding_title(f, "the receiver was not ready (RNR NAK)");
	rd_finding_detail(f,
		"%llu RNR NAK%s, each requests a delay of up to %s; %llu packet%s "
		"retransmitted",
		n(count(l, RD_INC_RNR)), rd_plural(count(l, RD_INC_RNR)),
		rd_fmt_duration(delay, UINT64_C(1000) * l->s->rnr_timer_us),
		n(count(l, RD_INC_RETRANSMITTED)), rd_plural(count(l, RD_INC_RETRANSMITTED)));
	if (pages) {
		finding_append(f, "%llu of them for requests that need no receive", n(pages));
		if (pages >= count(l, RD_INC_RNR)) {
			f->meaning = "page faults of the receiver (on-demand paging), or a lack of "
				     "resources of its NIC";
			f->next = "look at the receiver's page faults and memory, and at the load "
				  "of its NIC";
		}
	}
	filter_responses(l, f, "infiniband.aeth.syndrome.opcode == 1");
	return true;
}

/* The request that was refused. Its header may not have been captured. */
static void add_request(const struct look *l, struct rd_finding *f)
{
	const struct rd_refusal *q = l->s->refusal;

	if (!q)
		finding_append(f, "the refused request was not seen");
	else if (q->has_address)
		finding_append(f,
			"refused: %s of %u bytes at address 0x%016llx with rkey 0x%08x, frame "
			"%llu, "
			"PSN %u",
			rd_verb_name(q->verb), q->length, n(q->address), q->rkey, n(q->frame),
			q->psn);
	else if (q->verb == RD_VERB_SEND)
		finding_append(f, "refused: SEND, frame %llu, PSN %u", n(q->frame), q->psn);
	else
		finding_append(f,
			"refused: %s, frame %llu, PSN %u; its rkey, address and length were not "
			"captured",
			rd_verb_name(q->verb), n(q->frame), q->psn);
}

static bool refused(
	const struct look *l, struct rd_finding *f, enum rd_incident_kind kind, const char *error)
{
	if (!count(l, kind))
		return false;
	finding_evidence(f, incident(l, kind));
	rd_finding_title(f, "the receiver refused a request: NAK \"%s\"", error);
	rd_finding_detail(f,
		"%llu NAK%s; a requester that receives one sets its QP to the error state and "
		"flushes its other requests",
		n(count(l, kind)), rd_plural(count(l, kind)));
	add_request(l, f);
	filter_responses(l, f, "infiniband.aeth.syndrome.opcode == 3");
	return true;
}

static bool refused_access(const struct look *l, struct rd_finding *f)
{
	return refused(l, f, RD_INC_NAK_ACCESS, "remote access error");
}

static bool refused_invalid(const struct look *l, struct rd_finding *f)
{
	return refused(l, f, RD_INC_NAK_INVALID, "invalid request");
}

static bool refused_operational(const struct look *l, struct rd_finding *f)
{
	return refused(l, f, RD_INC_NAK_OPERATIONAL, "remote operational error");
}

static bool no_credits(const struct look *l, struct rd_finding *f)
{
	if (count(l, RD_INC_ZERO_CREDIT) < 2)
		return false;
	finding_evidence(f, incident(l, RD_INC_ZERO_CREDIT));
	rd_finding_title(f, "the receiver advertises no credits");
	rd_finding_detail(f, "%llu ACKs allow no further SEND", n(count(l, RD_INC_ZERO_CREDIT)));
	filter_responses(l, f, "infiniband.aeth.syndrome.credit_count == 0");
	return true;
}

/* IBTA volume 1, 10.2.5 and 9.6.1.3: dropped without a NAK. */
static bool qkey_differs(const struct look *l, struct rd_finding *f)
{
	if (!count(l, RD_INC_QKEY))
		return false;
	finding_evidence(f, incident(l, RD_INC_QKEY));
	/* That of QP 1 is constant; any other QP may have been created again with a new one. */
	if (l->to->qp != 1)
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "the receiver drops UD packets with a wrong Q_Key");
	rd_finding_detail(f,
		"%llu packet%s, the last of its packets with 0x%08x; %s another Q_Key, and a QP "
		"accepts only its own",
		n(count(l, RD_INC_QKEY)), rd_plural(count(l, RD_INC_QKEY)), l->s->qkey,
		l->to->qp == 1 ? "QP 1 has" : "the first packet to this QP had");
	filter_requests(l, f);
	return true;
}

/* --- endings ---------------------------------------------------------------------------------- */

/* The last response, and the last packet that was sent after it. */
static void evidence_of_ending(const struct look *l, struct rd_finding *f)
{
	f->evidence.count = l->s->attempts;
	f->evidence.first_ns = f->evidence.last_ns = l->s->end_ns;
	rd_finding_frame(f, l->s->end_frame);
	rd_finding_frame(f, l->s->last_frame);
}

/* Responses may have taken another way since then, or the capture lost them. */
static bool responses_stopped(const struct look *l, struct rd_finding *f)
{
	if (l->s->ending != RD_ENDING_STOPPED || !has_responses(l))
		return false;
	evidence_of_ending(l, f);
	if (capture_lost_frames(l->r) || has_cut_headers(l) || l->s->attempts < 3 ||
		has_missed_many(l) || is_disordered(l))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "responses stopped at frame %llu", n(l->s->end_frame));
	rd_finding_detail(f,
		"%u retransmission rounds without a response since then, up to the end of the "
		"capture",
		l->s->attempts);
	filter_requests(l, f);
	return true;
}

static bool gave_up(const struct look *l, struct rd_finding *f)
{
	if (l->s->ending != RD_ENDING_RETRY || !has_responses(l))
		return false;
	evidence_of_ending(l, f);
	/* A capture that missed frames may have missed two responses, hardly three. */
	if (capture_lost_frames(l->r) || has_cut_headers(l) ||
		l->s->attempts < (l->missed ? 3 : 2) || has_missed_many(l) || is_disordered(l))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(
		f, "responses stopped at frame %llu, and the sender gave up", n(l->s->end_frame));
	rd_finding_detail(f,
		"%u retransmission rounds without a response, then no more packets: retry counter "
		"exceeded",
		l->s->attempts);
	filter_requests(l, f);
	return true;
}

static bool gave_up_rnr(const struct look *l, struct rd_finding *f)
{
	if (l->s->ending != RD_ENDING_RNR)
		return false;
	f->evidence.count = 1;
	f->evidence.first_ns = f->evidence.last_ns = l->s->end_ns;
	rd_finding_frame(f, l->s->end_frame);
	if (is_incomplete(l)) /* how long the sender was silent is unknown */
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "the sender gave up because the receiver was not ready");
	rd_finding_detail(f,
		"no packets after the last of %llu RNR NAKs: RNR retry counter exceeded",
		n(count(l, RD_INC_RNR)));
	filter_requests(l, f);
	return true;
}

static bool no_response(const struct look *l, struct rd_finding *f)
{
	char waited[WAITED_LEN];

	if (!is_rc(l) || !rounds(l) || made_progress(l) || has_responses(l) || is_refused(l))
		return false;
	finding_evidence(f, incident(l, RD_INC_ROUND_TIMEOUT));
	/* It may get responses that are not captured, unless it gives up. */
	if (l->s->ending != RD_ENDING_RETRY || f->evidence.count < 2 || capture_lost_frames(l->r))
		finding_lower(f, RD_POSSIBLE);
	/* A filter or mirror of one direction; or a device on the path that rewrites addresses. */
	if (is_one_direction(l) || may_have_other_half(l)) {
		finding_lower(f, RD_POSSIBLE);
		f->next = "capture both directions; look at the receiver's QP (rdma resource show "
			  "qp)";
	}
	if (l->c->kind == RD_KIND_IB)
		f->meaning = "the receiver drops the requests (QP not ready or destroyed, another "
			     "partition, a wrong path), or its responses take another path";
	rd_finding_title(f, l->s->ending == RD_ENDING_RETRY
				    ? "no response was captured, and the sender gave up"
				    : "requests are repeated, and no response was captured");
	rd_finding_detail(f, "%llu request%s, %llu of them retransmitted %s", n(l->s->requests),
		rd_plural(l->s->requests), n(count(l, RD_INC_RETRANSMITTED)),
		waited_text(waited, l, RD_LATENCY_TIMEOUT, UINT64_MAX));
	filter_requests(l, f);
	return true;
}

/* --- performance ------------------------------------------------------------------------------ */

static bool small_mtu(const struct look *l, struct rd_finding *f)
{
	uint64_t large = 0;

	for (unsigned int v = RD_VERB_SEND; v <= RD_VERB_READ; v++)
		if (rd_side_verb(l->s, v)->largest > large)
			large = rd_side_verb(l->s, v)->largest;
	if (l->c->kind == RD_KIND_IB)
		f->meaning = "the application or the subnet manager chose a small path MTU";
	if (!l->s->mtu || l->s->mtu > 1024 || large < 32768 || l->s->goodput_bytes < 10000000)
		return false;
	f->evidence.count = 1;
	rd_finding_frame(f, l->s->first_frame);
	rd_finding_title(f, "the path MTU is small for the messages");
	rd_finding_detail(f, "%u bytes, while messages have up to %llu", l->s->mtu, n(large));
	filter_requests(l, f);
	return true;
}

/* Most of the bytes, while messages of other QPs take long. */
static bool starving(const struct look *l, struct rd_finding *f)
{
	uint64_t all = l->r->totals.wire_bytes, mine = l->s->wire_bytes;
	const struct rd_conversation *worst = NULL;
	uint64_t most = 8 * latency(l, RD_LATENCY_MESSAGE)->p50;
	char theirs[RD_UNITS_LEN], own[RD_UNITS_LEN];

	if (l->r->n_conversations < 3 || mine < 1000000 || percent(mine, all) < 80)
		return false;
	for (size_t i = 0; i < l->r->n_conversations; i++) {
		const struct rd_conversation *c = &l->r->conversations[i];
		const struct rd_latency *m = rd_side_latency(&c->side[0], RD_LATENCY_MESSAGE);

		if (c == l->c || m->n < 8 || m->p50 <= most)
			continue;
		worst = c;
		most = m->p50;
	}
	if (!worst)
		return false;
	f->evidence.count = 1;
	rd_finding_frame(f, l->s->first_frame);
	rd_finding_title(f, "one QP uses most of the link while others wait");
	rd_finding_detail(f,
		"%.0f %% of all bytes; median message time of %s QP 0x%x is %s, its own %s",
		percent(mine, all), worst->a.address, worst->a.qp, rd_fmt_duration(theirs, most),
		rd_fmt_duration(own, latency(l, RD_LATENCY_MESSAGE)->p50));
	filter_requests(l, f);
	return true;
}

const struct rule rules_of_sides[] = {
	{{"no-response", RD_SEV_PROBLEM, RD_LIKELY,
		 "the receiver drops the requests (QP not ready or destroyed, firewall on UDP port "
		 "4791, wrong GID or VLAN), or its responses take another path",
		 "look at the receiver's QP (rdma resource show qp), and capture there in both "
		 "directions"},
		no_response},
	{{"gave-up", RD_SEV_PROBLEM, RD_LIKELY,
		 "the receiver or the path failed during the transfer",
		 "look at the receiver's log and link at that time; the application's completion "
		 "has "
		 "status 12 (transport retry counter exceeded)"},
		gave_up},
	{{"responses-stopped", RD_SEV_PROBLEM, RD_LIKELY,
		 "the receiver or the path back failed, or responses take another path since then",
		 "look at the receiver's log and link at that time; capture at the receiver, or "
		 "for "
		 "longer to see whether the sender gives up"},
		responses_stopped},
	{{"gave-up-rnr", RD_SEV_PROBLEM, RD_LIKELY,
		 "the receiving application was blocked, or posts too few receives",
		 "the sender's completion has status 13 (RNR retry counter exceeded); raise "
		 "rnr_retry "
		 "or post more receives"},
		gave_up_rnr},
	{{"remote-access", RD_SEV_PROBLEM, RD_CERTAIN,
		 "one of: a wrong rkey, or one of a region that is deregistered, invalidated or of "
		 "another protection domain; an address or length outside of the region or memory "
		 "window; an operation that the access flags of the region, the window or the QP "
		 "do not allow",
		 "compare rkey, address and length of the request with what the responder "
		 "registered; look at the access flags of its region and QP"},
		refused_access},
	{{"invalid-request", RD_SEV_PROBLEM, RD_CERTAIN,
		 "one of: a message longer than the posted receive; more READs or atomics at once "
		 "than agreed (max_dest_rd_atomic); an operation that the responder's QP does not "
		 "support or allow; an atomic at an address that is no multiple of 8; a length "
		 "that "
		 "differs from the path MTU or the header's; packets of a message out of their "
		 "order",
		 "compare sizes of receives, max_rd_atomic, path MTU and access flags of both QPs"},
		refused_invalid},
	{{"remote-operational", RD_SEV_PROBLEM, RD_CERTAIN,
		 "an error of the receiver itself, as a receive whose lkey or memory is not valid",
		 "look at the status of the receiver's completions"},
		refused_operational},
	{{"qkey", RD_SEV_WARNING, RD_LIKELY,
		 "a sender with the Q_Key of another QP or of an earlier process; or the QP was "
		 "created again",
		 "compare the sender's remote Q_Key with that of the QP; see whether "
		 "qkey_viol_cntr "
		 "of the receiving port grows (ibv_devinfo -v)"},
		qkey_differs},
	{{"rnr", RD_SEV_WARNING, RD_CERTAIN,
		 "the receiving application posts too few receives or is too slow; with on-demand "
		 "paging, page faults",
		 "post more receives, or look at what delays the receiving thread"},
		not_ready},
	{{"cnp", RD_SEV_WARNING, RD_CERTAIN,
		 "switches on the path mark packets: the path is congested (incast, slow link)",
		 "look at which senders share the congested port; check the DCQCN settings"},
		congested},
	{{"cnp-unmarked", RD_SEV_WARNING, RD_LIKELY,
		 "the receiver's NIC is congested itself (PCIe, memory, a full receive buffer), or "
		 "its settings make it send CNPs without marks",
		 "look at the receive buffer and PCIe counters of the receiver's NIC, and at its "
		 "settings of congestion control"},
		slowed_without_marks},
	{{"ecn-no-cnp", RD_SEV_WARNING, RD_LIKELY,
		 "congestion control is off at the receiver, or CNPs are filtered on the path",
		 "check roce_np enable for this priority at the receiver"},
		marked_without_cnp},
	{{"ecn-ce", RD_SEV_NOTE, RD_CERTAIN,
		 "a queue on the path was longer than the limit from which a switch marks packets",
		 "capture both directions, to see whether the receiver sends CNPs"},
		marked},
	{{"credits", RD_SEV_NOTE, RD_CERTAIN,
		 "all receives of the receiver are in use: SENDs and WRITEs with immediate data "
		 "wait, "
		 "or get RNR NAKs",
		 "post more receives"},
		no_credits},
	{{"starving", RD_SEV_NOTE, RD_POSSIBLE, "one heavy QP fills queues that others share",
		 "give it a priority (traffic class) or rate limit of its own"},
		starving},
	{{"small-mtu", RD_SEV_NOTE, RD_POSSIBLE, "an Ethernet MTU of 1500 limits RoCE to 1024",
		 "raise the MTU (4200 or 9000) on all hosts and switches of the path"},
		small_mtu},
	{{0}, NULL},
};
