/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over one side of a conversation: its requests, and what came of them. */
#include "rules.h"

#define MS UINT64_C(1000000)

static bool is_rc(const struct look *l)
{
	return l->c->transport == RD_RC || l->c->transport == RD_XRC;
}

static const struct rd_incident *incident(const struct look *l, enum rd_incident_kind kind)
{
	return rd_side_incident(l->s, kind);
}

static uint64_t count(const struct look *l, enum rd_incident_kind kind)
{
	return incident(l, kind)->count;
}

static const struct rd_latency *latency(const struct look *l, enum rd_latency_kind kind)
{
	return rd_side_latency(l->s, kind);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static unsigned long long n(uint64_t value)
{
	return value;
}

static const char *plural(uint64_t value)
{
	return value == 1 ? "" : "s";
}

/* Requests of this side, or all of the conversation where a QP is not known. */
static void filter_requests(const struct look *l, struct rd_finding *f)
{
	uint64_t first = f->evidence.n_frames ? f->evidence.frames[0] : 0;

	if (l->to->qp != RD_QP_UNKNOWN)
		rd_finding_filter(f, first > 20 ? first - 20 : 0, "infiniband.bth.destqp == 0x%06x",
			l->to->qp);
}

static void filter_responses(const struct look *l, struct rd_finding *f, const char *what)
{
	if (l->from->qp != RD_QP_UNKNOWN)
		rd_finding_filter(f, 0, "infiniband.bth.destqp == 0x%06x && %s", l->from->qp, what);
	else
		rd_finding_filter(f, 0, "%s", what);
}

static uint64_t rounds(const struct look *l)
{
	return count(l, RD_INC_ROUND_NAK) + count(l, RD_INC_ROUND_RNR) +
	       count(l, RD_INC_ROUND_READ) + count(l, RD_INC_ROUND_TIMEOUT);
}

static void detail_retransmitted(const struct look *l, struct rd_finding *f)
{
	rd_finding_detail(f,
		"%llu packets retransmitted in %llu round%s (%llu after NAKs, %llu after silence), "
		"%.1f %% of its request packets",
		n(count(l, RD_INC_RETRANSMITTED)), n(rounds(l)), plural(rounds(l)),
		n(count(l, RD_INC_ROUND_NAK)), n(count(l, RD_INC_ROUND_TIMEOUT)),
		percent(count(l, RD_INC_RETRANSMITTED), l->s->requests));
}

/* --- loss ------------------------------------------------------------------------------------- */

static bool lost_behind(const struct look *l, struct rd_finding *f)
{
	uint64_t late = count(l, RD_INC_REORDERED);

	if (!count(l, RD_INC_LOST_DOWNSTREAM))
		return false;
	finding_evidence(f, incident(l, RD_INC_LOST_DOWNSTREAM),
		late > count(l, RD_INC_LOST_DOWNSTREAM) ? RD_POSSIBLE : RD_CERTAIN);
	rd_finding_title(f, "packets are lost downstream of this capture point");
	detail_retransmitted(l, f);
	filter_requests(l, f);
	return true;
}

static bool lost_before(const struct look *l, struct rd_finding *f)
{
	uint64_t damaged = count(l, RD_INC_ICRC);

	if (!count(l, RD_INC_LOST_UPSTREAM) || damaged >= count(l, RD_INC_LOST_UPSTREAM))
		return false;
	finding_evidence(f, incident(l, RD_INC_LOST_UPSTREAM), RD_CERTAIN);
	rd_finding_title(f, "packets are lost upstream of this capture point");
	detail_retransmitted(l, f);
	filter_requests(l, f);
	return true;
}

static bool responses_lost_downstream(const struct look *l, struct rd_finding *f)
{
	if (!count(l, RD_INC_RESPONSE_LOST) || !l->other->seen)
		return false;
	finding_evidence(f, incident(l, RD_INC_RESPONSE_LOST), RD_LIKELY);
	if (f->evidence.count == 1) { /* a timer that fired late would look the same */
		f->severity = RD_SEV_WARNING;
		f->certainty = RD_POSSIBLE;
	}
	rd_finding_title(f, "responses are lost between this capture point and the requester");
	rd_finding_detail(f,
		"it retransmitted %llu time%s requests whose responses had been seen here",
		n(count(l, RD_INC_RESPONSE_LOST)), plural(count(l, RD_INC_RESPONSE_LOST)));
	filter_requests(l, f);
	return true;
}

static bool responses_lost_upstream(const struct look *l, struct rd_finding *f)
{
	if (!count(l, RD_INC_RESPONSE_GAP) || !count(l, RD_INC_ROUND_READ))
		return false;
	finding_evidence(f, incident(l, RD_INC_RESPONSE_GAP),
		count(l, RD_INC_RESPONSE_REORDERED) ? RD_POSSIBLE : RD_CERTAIN);
	rd_finding_title(f, "READ responses are lost upstream of this capture point");
	rd_finding_detail(f,
		"%llu gaps in the responses, %llu requests retransmitted, %llu responses came "
		"again",
		n(count(l, RD_INC_RESPONSE_GAP)), n(count(l, RD_INC_ROUND_READ)),
		n(count(l, RD_INC_RESPONSE_REPEATED)));
	filter_responses(l, f, "infiniband.bth.opcode >= 13 && infiniband.bth.opcode <= 16");
	return true;
}

static bool lost_unreliable(const struct look *l, struct rd_finding *f)
{
	if (l->c->transport != RD_UC || !count(l, RD_INC_UNSEEN))
		return false;
	finding_evidence(f, incident(l, RD_INC_UNSEEN), RD_CERTAIN);
	rd_finding_title(
		f, "packets of an unreliable connection are lost upstream of this capture point");
	rd_finding_detail(f, "%llu packets in %llu gaps, %.1f %%; nothing retransmits them",
		n(count(l, RD_INC_UNSEEN)), n(count(l, RD_INC_GAP)),
		percent(count(l, RD_INC_UNSEEN), l->s->requests + count(l, RD_INC_UNSEEN)));
	filter_requests(l, f);
	return true;
}

static bool damaged(const struct look *l, struct rd_finding *f)
{
	if (!count(l, RD_INC_ICRC) || !l->r->totals.icrc_trusted)
		return false;
	finding_evidence(f, incident(l, RD_INC_ICRC), RD_CERTAIN);
	rd_finding_title(f, "frames are damaged upstream of this capture point");
	rd_finding_detail(f, "%llu frames with a wrong invariant CRC, %.2f %%; receivers drop them",
		n(count(l, RD_INC_ICRC)), percent(count(l, RD_INC_ICRC), l->s->frames));
	filter_requests(l, f);
	return true;
}

/* Repeated after silence, though neither requests nor responses are known to be lost. */
static bool timeout_rounds(const struct look *l, struct rd_finding *f)
{
	uint64_t silent = count(l, RD_INC_ROUND_TIMEOUT);

	if (!silent || !is_rc(l) ||
		count(l, RD_INC_RESPONSE_LOST) + count(l, RD_INC_CROSSED) >= silent ||
		l->s->ending == RD_ENDING_RETRY || !(l->s->acks + l->s->read_responses))
		return false;
	finding_evidence(f, incident(l, RD_INC_ROUND_TIMEOUT), RD_LIKELY);
	rd_finding_title(f, "requests were retransmitted because no response came in time");
	rd_finding_detail(f, "%llu time%s, after %.3g ms at least; %llu packets retransmitted",
		n(silent), plural(silent), (double)l->s->timeout_ns / 1e6,
		n(count(l, RD_INC_RETRANSMITTED)));
	filter_requests(l, f);
	return true;
}

/* --- time-outs ----------------------------------------------------------------------------------
 */

static bool timeout_short(const struct look *l, struct rd_finding *f)
{
	uint64_t crossed = count(l, RD_INC_CROSSED);

	if (!crossed)
		return false;
	finding_evidence(f, incident(l, RD_INC_CROSSED), crossed > 1 ? RD_LIKELY : RD_POSSIBLE);
	rd_finding_title(f, "requests were retransmitted while their responses were under way");
	rd_finding_detail(f, "%llu time%s, after %.3g ms; responses take up to %.3g ms (p99)",
		n(crossed), plural(crossed), (double)l->s->timeout_ns / 1e6,
		(double)latency(l, RD_LATENCY_MESSAGE)->p99 / 1e6);
	filter_requests(l, f);
	return true;
}

static bool timeout_long(const struct look *l, struct rd_finding *f)
{
	if (l->s->timeout_ns < 500 * MS)
		return false;
	finding_evidence(f, incident(l, RD_INC_ROUND_TIMEOUT), RD_CERTAIN);
	rd_finding_title(f, "the retransmission time-out is long");
	rd_finding_detail(
		f, "each loss without a NAK costs %.3g s", (double)l->s->timeout_ns / 1e9);
	filter_requests(l, f);
	return true;
}

static bool stalled(const struct look *l, struct rd_finding *f)
{
	uint64_t stall = l->s->longest_stall_ns;

	if (stall < 200 * MS || latency(l, RD_LATENCY_MESSAGE)->p50 * 20 > stall ||
		count(l, RD_INC_RNR))
		return false;
	f->certainty = RD_CERTAIN;
	f->evidence.count = 1;
	rd_finding_frame(f, l->s->stall_frame);
	rd_finding_title(f, "a response took long");
	rd_finding_detail(
		f, "%.3g ms without progress while requests were open", (double)stall / 1e6);
	filter_requests(l, f);
	return true;
}

/* --- the network
 * ---------------------------------------------------------------------------------- */

static bool reordered(const struct look *l, struct rd_finding *f)
{
	uint64_t late = count(l, RD_INC_REORDERED);

	if (!late && !count(l, RD_INC_RESPONSE_REORDERED))
		return false;
	finding_evidence(f, incident(l, late ? RD_INC_REORDERED : RD_INC_RESPONSE_REORDERED),
		late ? RD_CERTAIN : RD_LIKELY);
	rd_finding_title(f, "packets are reordered upstream of this capture point");
	rd_finding_detail(f,
		"%llu requests and %llu responses came late without being retransmitted; receivers "
		"take that for loss",
		n(late), n(count(l, RD_INC_RESPONSE_REORDERED)));
	filter_requests(l, f);
	return true;
}

static bool duplicated(const struct look *l, struct rd_finding *f)
{
	uint64_t requests = count(l, RD_INC_DUPLICATED),
		 responses = count(l, RD_INC_RESPONSE_DUPLICATED);

	if (!requests && !responses)
		return false;
	finding_evidence(f, incident(l, requests ? RD_INC_DUPLICATED : RD_INC_RESPONSE_DUPLICATED),
		RD_CERTAIN);
	rd_finding_title(f, "the network duplicates frames");
	rd_finding_detail(f,
		"%llu requests and %llu responses came twice with the same IP identification",
		n(requests), n(responses));
	filter_requests(l, f);
	return true;
}

static bool congested(const struct look *l, struct rd_finding *f)
{
	uint64_t cnp = count(l, RD_INC_CNP);
	double seconds =
		(double)(incident(l, RD_INC_CNP)->last_ns - incident(l, RD_INC_CNP)->first_ns) /
		1e9;

	if (!cnp)
		return false;
	finding_evidence(f, incident(l, RD_INC_CNP), RD_CERTAIN);
	f->severity = cnp > 100 && (double)cnp > 1000 * seconds ? RD_SEV_PROBLEM : RD_SEV_WARNING;
	rd_finding_title(f, f->severity == RD_SEV_PROBLEM
				    ? "a storm of congestion notifications slows this sender down"
				    : "congestion notifications ask this sender to slow down");
	rd_finding_detail(f, "%llu CNPs for its %llu frames; %llu of those were marked here",
		n(cnp), n(l->s->frames), n(count(l, RD_INC_CE)));
	filter_responses(l, f, "infiniband.bth.opcode == 0x81");
	return true;
}

static bool marked_unanswered(const struct look *l, struct rd_finding *f)
{
	if (count(l, RD_INC_CE) < 10 || count(l, RD_INC_CNP) || !l->other->seen || !is_rc(l))
		return false;
	finding_evidence(f, incident(l, RD_INC_CE), RD_LIKELY);
	rd_finding_title(f, "marked congestion is not reported by notifications (CNP)");
	rd_finding_detail(f, "%llu frames came marked \"congestion experienced\", no CNP went back",
		n(count(l, RD_INC_CE)));
	rd_finding_filter(
		f, 0, "infiniband.bth.destqp == 0x%06x && ip.dsfield.ecn == 3", l->to->qp);
	return true;
}

/* --- the receiver refuses
 * ---------------------------------------------------------------------------- */

static bool not_ready(const struct look *l, struct rd_finding *f)
{
	if (!count(l, RD_INC_RNR))
		return false;
	finding_evidence(f, incident(l, RD_INC_RNR), RD_CERTAIN);
	rd_finding_title(f, "the receiver has no receive posted (RNR NAK)");
	rd_finding_detail(f,
		"%llu RNR NAKs, each asks to wait up to %.4g ms; %llu packets retransmitted",
		n(count(l, RD_INC_RNR)), l->s->rnr_timer_us / 1e3,
		n(count(l, RD_INC_RETRANSMITTED)));
	filter_responses(l, f, "infiniband.aeth.syndrome.opcode == 1");
	return true;
}

static bool refused(
	const struct look *l, struct rd_finding *f, enum rd_incident_kind kind, const char *title)
{
	if (!count(l, kind))
		return false;
	finding_evidence(f, incident(l, kind), RD_CERTAIN);
	rd_finding_title(f, "%s", title);
	rd_finding_detail(f,
		"%llu NAK%s; the QP is in error from then on, its other requests are lost",
		n(count(l, kind)), plural(count(l, kind)));
	filter_responses(l, f, "infiniband.aeth.syndrome.opcode == 3");
	return true;
}

static bool refused_access(const struct look *l, struct rd_finding *f)
{
	return refused(l, f, RD_INC_NAK_ACCESS, "the receiver refuses access to its memory");
}

static bool refused_invalid(const struct look *l, struct rd_finding *f)
{
	return refused(l, f, RD_INC_NAK_INVALID, "the receiver takes a request for invalid");
}

static bool refused_operational(const struct look *l, struct rd_finding *f)
{
	return refused(l, f, RD_INC_NAK_OPERATIONAL, "the receiver fails to carry a request out");
}

static bool no_credits(const struct look *l, struct rd_finding *f)
{
	if (count(l, RD_INC_ZERO_CREDIT) < 2)
		return false;
	finding_evidence(f, incident(l, RD_INC_ZERO_CREDIT), RD_CERTAIN);
	rd_finding_title(f, "the receiver's credits run out");
	rd_finding_detail(f, "%llu ACKs allow no further SEND", n(count(l, RD_INC_ZERO_CREDIT)));
	filter_responses(l, f, "infiniband.aeth.syndrome.credit_count == 0");
	return true;
}

/* --- endings
 * ------------------------------------------------------------------------------------------- */

static bool answered(const struct look *l)
{
	return l->s->acks || l->s->read_responses || latency(l, RD_LATENCY_ATOMIC)->n ||
	       count(l, RD_INC_RNR) || count(l, RD_INC_NAK_SEQUENCE);
}

static bool gave_up(const struct look *l, struct rd_finding *f)
{
	if (l->s->ending != RD_ENDING_RETRY || !answered(l))
		return false;
	f->certainty = RD_LIKELY;
	f->evidence.count = l->s->attempts;
	f->evidence.first_ns = f->evidence.last_ns = l->s->end_ns;
	rd_finding_frame(f, l->s->end_frame);
	rd_finding_title(f, "responses stopped, and the sender gave up");
	rd_finding_detail(f,
		"%u retransmission rounds without a response, then silence: retry counter exceeded",
		l->s->attempts);
	filter_requests(l, f);
	return true;
}

static bool gave_up_rnr(const struct look *l, struct rd_finding *f)
{
	if (l->s->ending != RD_ENDING_RNR)
		return false;
	f->certainty = RD_LIKELY;
	f->evidence.count = 1;
	f->evidence.first_ns = f->evidence.last_ns = l->s->end_ns;
	rd_finding_frame(f, l->s->end_frame);
	rd_finding_title(f, "the sender gave up on a receiver that never was ready");
	rd_finding_detail(f, "nothing came after the last of %llu RNR NAKs: RNR retry exceeded",
		n(count(l, RD_INC_RNR)));
	filter_requests(l, f);
	return true;
}

static bool black_hole(const struct look *l, struct rd_finding *f)
{
	if (!is_rc(l) || !rounds(l) || answered(l) || count(l, RD_INC_NAK_ACCESS) ||
		count(l, RD_INC_NAK_INVALID) || count(l, RD_INC_NAK_OPERATIONAL))
		return false;
	finding_evidence(f, incident(l, RD_INC_ROUND_TIMEOUT), RD_CERTAIN);
	rd_finding_title(f, "requests get no response at all");
	rd_finding_detail(f,
		"%llu requests, %llu of them retransmitted every %.3g ms; not one response was "
		"seen",
		n(l->s->requests), n(count(l, RD_INC_RETRANSMITTED)),
		(double)l->s->timeout_ns / 1e6);
	filter_requests(l, f);
	return true;
}

/* --- what the capture does not show
 * ---------------------------------------------------------------------- */

static bool one_sided(const struct look *l, struct rd_finding *f)
{
	if (!is_rc(l) || l->side || l->c->pairing != RD_PAIR_NONE || l->s->seen == l->other->seen ||
		rounds(l) || l->s->frames + l->other->frames < 8)
		return false;
	f->certainty = RD_CERTAIN;
	f->evidence.count = l->s->frames + l->other->frames;
	rd_finding_frame(f, l->s->seen ? l->s->first_frame : l->other->first_frame);
	rd_finding_title(f, "only one direction was captured");
	rd_finding_detail(f,
		"%llu frames, none in the other direction: latencies and causes are not known",
		n(f->evidence.count));
	filter_requests(l, f);
	return true;
}

static bool unseen(const struct look *l, struct rd_finding *f)
{
	if (!is_rc(l) || !count(l, RD_INC_UNSEEN))
		return false;
	finding_evidence(f, incident(l, RD_INC_UNSEEN), RD_LIKELY);
	rd_finding_title(f, "the capture missed packets that the receiver had");
	rd_finding_detail(f,
		"%llu packets were acknowledged but never seen; that is no network loss",
		n(count(l, RD_INC_UNSEEN)));
	filter_requests(l, f);
	return true;
}

static bool small_mtu(const struct look *l, struct rd_finding *f)
{
	uint64_t large = 0;

	for (unsigned int v = RD_VERB_SEND; v <= RD_VERB_READ; v++)
		if (rd_side_verb(l->s, v)->largest > large)
			large = rd_side_verb(l->s, v)->largest;
	if (!l->s->mtu || l->s->mtu > 1024 || large < 32768 || l->s->goodput_bytes < 10000000)
		return false;
	f->certainty = RD_POSSIBLE;
	f->evidence.count = 1;
	rd_finding_frame(f, l->s->first_frame);
	rd_finding_title(f, "the path MTU is small for the messages");
	rd_finding_detail(f, "%u bytes, while messages have up to %llu", l->s->mtu, n(large));
	filter_requests(l, f);
	return true;
}

/* Most of the bytes, while others wait long. */
static bool starving(const struct look *l, struct rd_finding *f)
{
	uint64_t all = l->r->totals.wire_bytes, mine = l->s->wire_bytes;
	const struct rd_conversation *worst = NULL;
	uint64_t most = 8 * latency(l, RD_LATENCY_MESSAGE)->p50;

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
	f->certainty = RD_POSSIBLE;
	f->evidence.count = 1;
	rd_finding_frame(f, l->s->first_frame);
	rd_finding_title(f, "one QP takes nearly all of the link, while others wait");
	rd_finding_detail(f,
		"%.0f %% of all bytes; messages of %s QP 0x%x take %.3g us in the middle, its own "
		"%.3g us",
		percent(mine, all), worst->a.address, worst->a.qp, (double)most / 1e3,
		(double)latency(l, RD_LATENCY_MESSAGE)->p50 / 1e3);
	filter_requests(l, f);
	return true;
}

const struct rule rules_of_sides[] = {
	{"lost-downstream", RD_SEV_PROBLEM, lost_behind,
		"a switch that drops on this priority (no PFC), a bad link, or the receiving NIC "
		"itself",
		"capture on the receiver too; there look at out_of_buffer, rx_discards, and on the "
		"switch at discards of this port"},
	{"lost-upstream", RD_SEV_PROBLEM, lost_before,
		"loss between the sender and this capture point: switch without PFC on this "
		"priority, bad link, or the sender's own NIC",
		"capture on the sender too; there look at tx_discards, symbol and link errors"},
	{"responses-lost-downstream", RD_SEV_PROBLEM, responses_lost_downstream,
		"the path back loses packets: both directions need the same priority and PFC",
		"capture on the requester too; compare DSCP or PCP of requests and responses"},
	{"responses-lost-upstream", RD_SEV_PROBLEM, responses_lost_upstream,
		"loss between the responder and this capture point",
		"capture on the responder too; look at discards on the switch ports between"},
	{"unreliable-lost", RD_SEV_PROBLEM, lost_unreliable,
		"UC has no retransmission: whole messages are gone",
		"look at discards on the path; the application must notice by itself"},
	{"damaged", RD_SEV_PROBLEM, damaged,
		"a bad cable, transceiver or memory on the path, or a device that rewrites headers",
		"look at symbol errors, FEC and FCS errors of every link on the path"},
	{"no-response", RD_SEV_PROBLEM, black_hole,
		"the other end drops them (QP not ready or gone, firewall on UDP 4791, wrong GID "
		"or "
		"VLAN), or its responses take another path",
		"look at the QP's state at the other end (rdma resource show qp), and capture "
		"there"},
	{"gave-up", RD_SEV_PROBLEM, gave_up,
		"the other end or the path went away in the middle of the work",
		"look at the other end's log and link at that time; the application saw status 12 "
		"(transport retry counter exceeded)"},
	{"gave-up-rnr", RD_SEV_PROBLEM, gave_up_rnr,
		"the receiving application was stuck, or posts too few receives",
		"the sender's application saw status 13 (RNR retry counter exceeded); raise "
		"rnr_retry or post more receives"},
	{"remote-access", RD_SEV_PROBLEM, refused_access,
		"a wrong or stale rkey, an address out of the region, or an operation that region "
		"or QP do not allow",
		"look at rkey, address and length of the request in front of the NAK, and at the "
		"access flags of the region"},
	{"invalid-request", RD_SEV_PROBLEM, refused_invalid,
		"a message longer than the posted receive, more READs at once than agreed "
		"(max_dest_rd_atomic), or MTUs that differ",
		"compare sizes of receives, max_rd_atomic and path MTU of both ends"},
	{"remote-operational", RD_SEV_PROBLEM, refused_operational,
		"the receiver met a local error: a receive with a bad lkey or one too short",
		"look at the receiver's completions: they have the status"},
	{"rnr", RD_SEV_WARNING, not_ready,
		"the receiving application posts too few receives, or is too slow",
		"post more receives, or look at what holds the receiving thread up"},
	{"reordered", RD_SEV_PROBLEM, reordered,
		"packets of one QP take several paths (LAG, ECMP or adaptive routing per packet)",
		"look at the hashing of LAG and ECMP; RDMA NICs take reordering for loss"},
	{"duplicated", RD_SEV_WARNING, duplicated, "a mirror port or a loop in the network",
		"look for mirroring that ends in the data "
		"path, and for loops"},
	{"timeout", RD_SEV_WARNING, timeout_rounds,
		"the last packet of a burst or its response was lost, or the receiver was too slow",
		"capture at the other end; look whether the retransmitted requests arrive twice"},
	{"timeout-short", RD_SEV_WARNING, timeout_short,
		"the QP's time-out (4.096 us * 2^timeout) is near what path and responder need",
		"raise the QP's timeout attribute"},
	{"timeout-long", RD_SEV_NOTE, timeout_long,
		"the QP's timeout attribute is high; NICs multiply it by up to four",
		"lower the QP's timeout attribute where that is possible"},
	{"stall", RD_SEV_WARNING, stalled,
		"pauses (PFC), a busy receiver, or loss that this capture does not show",
		"look at rx_pause and tx_pause counters and at the host of the responding end"},
	{"cnp", RD_SEV_WARNING, congested,
		"switches on the path mark packets: the path is congested (incast, slow link)",
		"look at which senders share the congested port; check DCQCN settings"},
	{"ecn-no-cnp", RD_SEV_WARNING, marked_unanswered,
		"congestion control is off at the receiver, or CNPs are filtered on the path",
		"check roce_np enable for this priority at the receiver"},
	{"credits", RD_SEV_NOTE, no_credits, "the receiver has fewer receives posted than are sent",
		"post more receives"},
	{"starving", RD_SEV_NOTE, starving, "one heavy QP fills queues that others share",
		"give it a priority (traffic class) or rate limit of its own"},
	{"small-mtu", RD_SEV_NOTE, small_mtu, "an Ethernet MTU of 1500 limits RoCE to 1024",
		"raise the MTU (4200 or 9000) on all hosts and switches of the path"},
	{"unseen", RD_SEV_NOTE, unseen,
		"the capture was too slow, or packets take another path past it",
		"look at the losses of the capture itself"},
	{"one-sided", RD_SEV_NOTE, one_sided, "mirroring of one direction only, or a filter",
		"capture both directions"},
	{0},
};
