/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over one side of a conversation: refused requests, endings, performance. */
#include "look.h"

/* --- refused requests ------------------------------------------------------------------------- */

static bool not_ready(const struct look *l, struct rd_finding *f)
{
	if (count(l, RD_INC_RNR_PAGES) >= f->evidence.count) {
		f->meaning = "page faults of the receiver (on-demand paging), or a lack of "
			     "resources of its NIC";
		f->next = "look at the receiver's page faults and memory, and at the load of its "
			  "NIC";
	}
	return true;
}

WHETHER(no_credits, l->f->evidence.count > 1)

/* That of QP 1 is constant; any other QP may have been created again with a new one. */
DOUBT(may_be_created_again, "the QP may have been created again", l->to->qp != 1)

static bool qkey_differs(const struct look *l, struct rd_finding *f)
{
	rd_finding_detail(f,
		"%llu packet%s, the last of its packets with 0x%08x; %s another Q_Key, and a QP "
		"accepts only its own",
		n(f->evidence.count), rd_plural(f->evidence.count), l->s->qkey,
		l->to->qp == 1 ? "QP 1 has" : "the first packet to this QP had");
	return true;
}

/* --- endings ---------------------------------------------------------------------------------- */

/* The last response, and the last packet that was sent after it. */
static bool ended(const struct look *l, struct rd_finding *f)
{
	const enum rd_ending ending = l->s->end.how;

	f->evidence.count = ending == RD_ENDING_RNR ? 1 : l->s->end.attempts;
	f->evidence.first_ns = f->evidence.last_ns = l->s->end.ns;
	rd_finding_frame(f, l->s->end.frame);
	if (ending != RD_ENDING_RNR)
		rd_finding_frame(f, l->s->traffic.last_frame);
	return ending == RD_ENDING_RNR || has_responses(l);
}

static bool no_response(const struct look *l, struct rd_finding *f)
{
	if (!is_rc(l) || !rounds(l) || made_progress(l) || has_responses(l) || is_refused(l))
		return false;
	finding_evidence(f, incident(l, RD_INC_ROUND_TIMEOUT));
	if (is_one_direction(l) || may_have_other_half(l))
		f->next = "capture both directions; look at the receiver's QP (rdma resource show "
			  "qp)";
	if (l->c->kind == RD_KIND_IB)
		f->meaning = "the receiver drops the requests (QP not ready or destroyed, another "
			     "partition, a wrong path), or its responses take another path";
	rd_finding_title(f, l->s->end.how == RD_ENDING_RETRY
				    ? "no response was captured, and the sender gave up"
				    : "requests are repeated, and no response was captured");
	return true;
}

/* It may get responses that are not captured, unless it gives up. */
DOUBT(goes_on, "the sender does not give up: it may get responses",
	l->s->end.how != RD_ENDING_RETRY)

DOUBT(are_fewer_than_two, "there is one round", l->f->evidence.count < 2)

/* --- performance ------------------------------------------------------------------------------ */

static bool small_mtu(const struct look *l, struct rd_finding *f)
{
	uint64_t large = 0;

	for (unsigned int v = RD_VERB_SEND; v <= RD_VERB_READ; v++)
		large = RD_MAX(large, rd_side_verb(l->s, v)->largest);
	if (!l->s->mtu || l->s->mtu > 1024 || large < 32768 || l->s->goodput_bytes < 10000000)
		return false;
	if (l->c->kind == RD_KIND_IB)
		f->meaning = "the application or the subnet manager chose a small path MTU";
	f->evidence.count = 1;
	rd_finding_frame(f, l->s->traffic.first_frame);
	rd_finding_detail(f, "%u bytes, while messages have up to %llu", l->s->mtu, n(large));
	return true;
}

/* Most of the bytes, while messages of other QPs take long. */
static bool starving(const struct look *l, struct rd_finding *f)
{
	uint64_t all = l->r->totals.wire_bytes, mine = l->s->traffic.wire_bytes;
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
	rd_finding_frame(f, l->s->traffic.first_frame);
	rd_finding_detail(f,
		"%.0f %% of all bytes; median message time of %s QP 0x%x is %s, its own %s",
		percent(mine, all), worst->end[0].address, worst->end[0].qp,
		rd_fmt_duration(theirs, most),
		rd_fmt_duration(own, latency(l, RD_LATENCY_MESSAGE)->p50));
	return true;
}

/* The request that was refused: its header may not have been captured. */
#define REFUSED_DETAIL                                                                             \
	"{count NAK}; a requester that receives one sets its QP to the error state and flushes "   \
	"its other requests; {refused}"
#define REFUSED_FILTER OF_RESPONSES, "infiniband.aeth.syndrome.opcode == 3"

const struct rule rules_of_sides[] = {
	{"no-response", RD_SEV_PROBLEM, RD_LIKELY, 0, no_response, NULL,
		"{requests request}, {retransmitted} of them retransmitted "
		"{waited}{timer}{gives_up}",
		OF_REQUESTS,
		.meaning =
			"the receiver drops the requests (QP not ready or destroyed, firewall on "
			"UDP port 4791, wrong GID or VLAN), or its responses take another path",
		.next = "look at the receiver's QP (rdma resource show qp), and capture there in "
			"both directions",
		.traits = SILENT,
		.doubts = {CAPTURE_LOST, ABSENCE, goes_on, are_fewer_than_two,
			IF(is_one_direction, "no frame of the other direction was captured"),
			IF(may_have_other_half, "other rows may have the responses"),
			LACKS_EARLIER},
		.cause = CAUSE(2, "NO REPLY",
			"{s} repeats its requests, and no response of {r} is seen.", RD_LIKELY,
			"Rounds without a response", 0, UNANSWERED)},
	{"gave-up", RD_SEV_PROBLEM, RD_LIKELY, 0, ended,
		"responses stopped, and the sender gave up",
		"{attempts retransmission round} without a response after frame {end_frame}, then "
		"no more packets: retry counter exceeded{timer}{gives_up}",
		OF_REQUESTS, .ending = RD_ENDING_RETRY,
		.meaning = "the receiver's QP was destroyed or in error, as when its process ends; "
			   "or its host or the path failed; the NIC of a process that only hangs "
			   "still responds",
		.next = "look at the receiver's log and link at that time; the application's "
			"completion has status 12 (transport retry counter exceeded)",
		.traits = SILENT | GAVE_UP,
		.doubts = {CAPTURE_LOST, CUT, MISSED_MANY, DISORDERED,
			IF(are_few_rounds, "there are few rounds"), LACKS_EARLIER},
		.cause = CAUSE(2, "NO REPLY", "{r} stopped responding, and {s} gave up.", RD_LIKELY,
			"Last rounds without a response", 0, UNANSWERED)},
	{"responses-stopped", RD_SEV_PROBLEM, RD_LIKELY, 0, ended, "responses stopped",
		"{attempts retransmission round} without a response since frame {end_frame}, up "
		"to the end of the capture{timer}{gives_up}",
		OF_REQUESTS, .ending = RD_ENDING_STOPPED,
		.meaning = "the receiver or the path back failed, or responses take another path "
			   "since then",
		.next = "look at the receiver's log and link at that time; capture at the "
			"receiver, or for longer to see whether the sender gives up",
		.doubts = {CAPTURE_LOST, CUT, MISSED_MANY, DISORDERED,
			IF(are_few_rounds, "there are few rounds"), LACKS_EARLIER},
		.cause = CAUSE(2, "NO REPLY", "{r} stopped responding to {s}.", RD_LIKELY,
			"Last rounds without a response", 0, UNANSWERED)},
	/* Likely: how long the sender was silent is unknown. */
	{"gave-up-rnr", RD_SEV_PROBLEM, RD_LIKELY, 0, ended,
		"the sender gave up because the receiver was not ready",
		"no packets after the last of {rnr RNR NAK}: RNR retry counter exceeded",
		OF_REQUESTS, .ending = RD_ENDING_RNR,
		.meaning = "the receiving application was blocked, or posts too few receives",
		.next = "the sender's completion has status 13 (RNR retry counter exceeded); raise "
			"rnr_retry or post more receives",
		.traits = GAVE_UP, .doubts = {INCOMPLETE},
		.cause = CAUSE(2, "RNR", "{s} gave up, since {r} was not ready for its request.",
			RD_LIKELY, "Connections ended", 0, ANYWHERE(RH))},
	{"remote-access", RD_SEV_PROBLEM, RD_CERTAIN, HAPPENED(NAK_ACCESS), NULL,
		"the receiver refused a request: NAK \"remote access error\"", REFUSED_DETAIL,
		REFUSED_FILTER,
		.meaning = "one of: a wrong rkey, or one of a region that is deregistered, "
			   "invalidated or of another protection domain; an address or length "
			   "outside of the region or memory window; an operation that the access "
			   "flags of the region, the window or the QP do not allow",
		.next = "compare rkey, address and length of the request with what the responder "
			"registered; look at the access flags of its region and QP",
		.cause = CAUSE(1, "REFUSED",
			"{r} refused a request of {s}: it may not access that memory. The "
			"applications disagree; this is no fault of the network.",
			RD_LIKELY, "Requests refused", 0, ANYWHERE(SH | RH))},
	{"invalid-request", RD_SEV_PROBLEM, RD_CERTAIN, HAPPENED(NAK_INVALID), NULL,
		"the receiver refused a request: NAK \"invalid request\"", REFUSED_DETAIL,
		REFUSED_FILTER,
		.meaning =
			"one of: a message longer than the posted receive; more READs or atomics "
			"at once than agreed (max_dest_rd_atomic); an operation that the "
			"responder's QP does not support or allow; an atomic at an address that is "
			"no multiple of 8; a length that differs from the path MTU or the "
			"header's; packets of a message out of their order",
		.next = "compare sizes of receives, max_rd_atomic, path MTU and access flags of "
			"both QPs",
		.cause = CAUSE(1, "REFUSED",
			"{r} refused a request of {s} as invalid. The applications or their "
			"settings disagree; this is no fault of the network.",
			RD_LIKELY, "Requests refused", 0, ANYWHERE(SH | RH))},
	{"remote-operational", RD_SEV_PROBLEM, RD_CERTAIN, HAPPENED(NAK_OPERATIONAL), NULL,
		"the receiver refused a request: NAK \"remote operational error\"", REFUSED_DETAIL,
		REFUSED_FILTER,
		.meaning = "an error of the receiver itself, as a receive whose lkey or memory is "
			   "not valid",
		.next = "look at the status of the receiver's completions",
		.cause = CAUSE(1, "REFUSED",
			"{r} could not execute a request of {s}, by its own error.", RD_CERTAIN,
			"Requests refused", 0, ANYWHERE(RN | RH))},
	{"nak-reserved", RD_SEV_PROBLEM, RD_LIKELY, HAPPENED(NAK_OTHER), NULL,
		"the receiver sent a NAK of a kind that the specification reserves",
		"{count NAK}; what it refuses is not known", OF_RESPONSES,
		"infiniband.aeth.syndrome >= 0x40",
		.meaning = "a responder that does not follow the specification, or a damaged frame",
		.next = "look at the status of the completions at both ends, and at the firmware "
			"of the receiver",
		.cause = CAUSE(1, "REFUSED",
			"{r} seems to have refused a request of {s}, with a NAK of a reserved "
			"kind.",
			RD_LIKELY, "NAKs of a reserved kind", 0, ANYWHERE(RN | RH))},
	/* IBTA volume 1, 10.2.5 and 9.6.1.3: dropped without a NAK. */
	{"qkey", RD_SEV_WARNING, RD_LIKELY, HAPPENED(QKEY), qkey_differs,
		"the receiver drops UD packets with a wrong Q_Key", NULL, OF_REQUESTS,
		.meaning =
			"a sender with the Q_Key of another QP or of an earlier process; or the QP "
			"was created again",
		.next = "compare the sender's remote Q_Key with that of the QP; see whether "
			"qkey_viol_cntr of the receiving port grows (ibv_devinfo -v)",
		.doubts = {may_be_created_again},
		.cause = CAUSE(10, "Q_KEY", "{r} drops datagrams of {s}: their Q_Key differs.",
			RD_LIKELY, "Datagrams", 0, ANYWHERE(SH | RH))},
	{"rnr", RD_SEV_WARNING, RD_CERTAIN, HAPPENED(RNR), not_ready,
		"the receiver was not ready (RNR NAK)",
		"{count RNR NAK}, each requests a delay of up to {rnr_timer}; {retransmitted "
		"packet} retransmitted{rnr_pages}",
		OF_RESPONSES, "infiniband.aeth.syndrome.opcode == 1",
		.meaning = "the receiving application posts too few receives or is too slow; with "
			   "on-demand paging, page faults",
		.next = "post more receives, or look at what delays the receiving thread",
		.cause = CAUSE(6, "RNR", "{r} was not ready for requests of {s}.", RD_LIKELY,
			"Requests refused for the time being (RNR NAK)", 0, ANYWHERE(RH))},
	{"credits", RD_SEV_NOTE, RD_CERTAIN, HAPPENED(ZERO_CREDIT), NULL,
		"the receiver advertises no credits", "no further SEND is allowed by {count ACK}",
		OF_RESPONSES, "infiniband.aeth.syndrome.credit_count == 0", .when = no_credits,
		.meaning = "all receives of the receiver are in use: SENDs and WRITEs with "
			   "immediate data wait, or get RNR NAKs",
		.next = "post more receives", .doubts = {COUNTED_TWICE}},
	{"starving", RD_SEV_NOTE, RD_POSSIBLE, 0, starving,
		"one QP uses most of the link while others wait", NULL, OF_REQUESTS,
		.meaning = "one heavy QP fills queues that others share",
		.next = "give it a priority (traffic class) or rate limit of its own"},
	{"small-mtu", RD_SEV_NOTE, RD_POSSIBLE, 0, small_mtu,
		"the path MTU is small for the messages", NULL, OF_REQUESTS,
		.meaning = "an Ethernet MTU of 1500 limits RoCE to 1024",
		.next = "raise the MTU (4200 or 9000) on all hosts and switches of the path"},
	{0},
};
