/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over one side of a conversation: packets that are lost or damaged. */
#include "look.h"

#define GAPS_MAX   256 /* conversations among which other receivers of a UD QP are searched */
#define LATE_SHARE 16  /* few packets that are proven late, among many that seem lost */

/* A single event among several rounds: frames that the capture missed may have made it. */
DOUBT(is_exception, "it is one of several rounds", l->f->evidence.count == 1 && rounds(l) > 4)

/*
 * If some packets are late, others that seem lost may also be late: that shows only where the
 * receiver responds to them before their retransmission. PATHS looks at the other QPs of the path.
 */
DOUBT(others_are_late, "others were late, and taken for lost",
	(count(l, RD_INC_REORDERED) + count(l, RD_INC_REORDERED_DOWNSTREAM)) * LATE_SHARE >
		l->f->evidence.count)

/* A receiver of single packets requests those that are on their way: times tell them. */
DOUBT(may_be_on_their_way,
	"they may have been on their way when the NAK was sent: the capture's clock has coarse "
	"steps",
	is_clock_coarse(l->r) && count(l, RD_INC_SELECTIVE))

/* Frames that are damaged or trimmed are not lost. */
static uint64_t damaged_ones(const struct look *l)
{
	return count(l, RD_INC_ICRC) + count(l, RD_INC_TRIMMED);
}

WHETHER(is_lost_upstream, damaged_ones(l) < l->f->evidence.count)

/* A damaged QP number or address hides whose packet it was. */
DOUBT(may_be_damaged, "as many frames are damaged, whose QP number may be, too",
	damaged_ones(l) + l->a->icrc_lost.count >= l->f->evidence.count)

DOUBT(may_be_late, "others came late: after a NAK, one looks retransmitted",
	count(l, RD_INC_REORDERED) * 4 > l->f->evidence.count)

/*
 * Whether the receiver requested what is absent here; or the sender repeated it only, as it does
 * where the receiver takes packets out of order.
 */
static bool is_not_requested(const struct look *l)
{
	uint64_t lost = count(l, RD_INC_LOST_UPSTREAM);

	if (count(l, RD_INC_RETRANSMITTED) <= lost && count(l, RD_INC_GAP) >= lost)
		return false;
	return !naks_for_gaps(l) || naks_for_gaps(l) < gaps_without_nak(l);
}

/* What is missing before the last requests never came, so that the receiver had to be silent. */
static bool never_arrives(const struct look *l, struct rd_finding *f)
{
	f->evidence.count = l->s->end.attempts;
	f->evidence.first_ns = f->evidence.last_ns = l->s->end.ns;
	rd_finding_frame(f, l->s->traffic.last_frame);
	return (l->s->end.how == RD_ENDING_RETRY || l->s->end.how == RD_ENDING_STOPPED) &&
	       is_rc(l) && l->s->end.lacks;
}

/* --- responses -------------------------------------------------------------------------------- */

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
	return count(l, RD_INC_CROSSED) || is_all_again(l->s) ||
	       count(l, RD_INC_RESPONSE_LOST) * 4 > messages;
}

/*
 * READs or atomics that were repeated at once after a later response, among requests of other
 * kinds: no response is known to be missing here, but not all were followed.
 */
WHETHER(is_response_unclear, count(l, RD_INC_ROUND_READ) && !count(l, RD_INC_RESPONSE_LOST) &&
				     !count(l, RD_INC_RESPONSE_GAP) &&
				     !count(l, RD_INC_RESPONSE_UNSEEN))

static bool responses_lost_downstream(const struct look *l, struct rd_finding *f)
{
	if (!l->other->seen)
		return false;
	if (is_response_unclear(l)) {
		finding_evidence(f, incident(l, RD_INC_ROUND_READ));
		rd_finding_title(
			f, "responses may be lost between this capture point and the requester");
		f->detail = say(l, "it retransmitted {rounds_read time} READs or atomics after "
				   "later responses; none of their responses is known to be "
				   "missing here");
		return true;
	}
	if (!count(l, RD_INC_RESPONSE_LOST) || responses_arrived(l))
		return false;
	finding_evidence(f, incident(l, RD_INC_RESPONSE_LOST));
	if (f->evidence.count == 1) /* a timer that fired late looks the same */
		f->severity = RD_SEV_WARNING;
	return true;
}

static bool responses_lost_upstream(const struct look *l, struct rd_finding *f)
{
	const uint64_t gaps = without(f->evidence.count, count(l, RD_INC_RESPONSE_UNSEEN));

	/* What was never requested again was not lost; something was. */
	f->evidence.count = gaps ? gaps : 1;
	return count(l, RD_INC_ROUND_READ);
}

/* The copy of a response after others may seem to be another gap. */
DOUBT(has_other_responses, "responses are late or copied",
	count(l, RD_INC_RESPONSE_REORDERED) || count(l, RD_INC_RESPONSE_DUPLICATED))

/* A requester goes back for what it lacks; the responder may have sent more until it does. */
DOUBT(are_gaps_and_rounds_apart,
	"its rounds do not fit the gaps: the capture may have missed those",
	l->f->evidence.count > 2 * count(l, RD_INC_ROUND_READ) ||
		l->f->evidence.count * 2 < count(l, RD_INC_ROUND_READ))

/* --- unreliable ------------------------------------------------------------------------------- */

WHETHER(is_uc, l->c->transport == RD_UC)

/* Loss takes packets out of messages; gaps that do not may have been left by the sender. */
DOUBT(breaks_nothing, "gaps are between messages: the sender may have left them",
	!count(l, RD_INC_BROKEN))

/* Whether the capture has packets of this UD QP to another one. */
WHETHER(sends_to_others,
	RD_ANY(c, l->r->conversations, l->r->n_conversations,
		c != l->c && c->transport == RD_UD &&
			RD_ANY(e, c->end, 2,
				e->qp == l->from->qp && !strcmp(e->address, l->from->address))))

/*
 * PSNs count the packets of the sending QP, whomever it sends them to. A group may have members
 * elsewhere, and IP's broadcasts go with the same PSNs.
 */
static bool sends_to_one(const struct look *l)
{
	return l->c->transport == RD_UD && !(l->c->kind == RD_KIND_IB && l->c->multicast) &&
	       !l->c->ipoib && l->from->qp > 1 && l->r->n_conversations <= GAPS_MAX &&
	       !sends_to_others(l);
}

/* --- damage ----------------------------------------------------------------------------------- */

WHETHER(are_icrcs_trusted, l->r->totals.icrc_trusted)

/* So many wrong ones are rather captured before the sending NIC computed them. */
DOUBT(is_half_damaged, "so many are rather captured before the sending NIC computed the CRC",
	l->f->evidence.count * 2 > l->s->traffic.frames || l->r->totals.icrc_doubted)

/* Loss is the share of different packets; go-back-N retransmits many for each. */
#define LOST_DETAIL                                                                                \
	"{count} of {distinct} different packets lost ({share_distinct}), {gaps gap} in the "      \
	"sequence; {retransmitted packet} retransmitted in {rounds round} (after NAKs "            \
	"{rounds_nak}, RNR NAKs {rounds_rnr}, missing responses {rounds_read}, timeouts "          \
	"{rounds_timeout})"

const struct rule rules_of_loss[] = {
	{"lost-downstream", RD_SEV_PROBLEM, RD_LIKELY, HAPPENED(LOST_DOWNSTREAM),
		.title = "packets are lost downstream of this capture point", .detail = LOST_DETAIL,
		.filtered = OF_REQUESTS,
		.meaning = "a switch that drops on this priority (no PFC), a bad link, or the "
			   "receiving NIC; or reordering that the receiver takes for loss",
		.next = "capture at the receiver too, to see whether they arrive late; look at its "
			"out_of_buffer and rx_discards, and at discards of the switch port",
		.traits = SILENT | ENDS_ANSWER,
		.doubts = {INCOMPLETE, ABSENCE, PATHS, EACH_TWICE, DISCARDED, others_are_late,
			is_exception, may_be_on_their_way},
		.cause =
			CAUSE(4, "LOSS", NULL, RD_LIKELY, "Packets lost", LOST | DOWN, DOWNSTREAM)},
	{"lost-upstream", RD_SEV_PROBLEM, RD_LIKELY, HAPPENED(LOST_UPSTREAM), NULL,
		"packets are lost upstream of this capture point", LOST_DETAIL, OF_REQUESTS,
		.when = is_lost_upstream,
		.meaning = "loss between the sender and this capture point: a switch without PFC "
			   "on this priority, a bad link, or the sender's NIC; or the capture "
			   "missed them",
		.next = "capture at the sender too, to see whether they were sent; look at its "
			"tx_discards, at symbol and link errors",
		.traits = SILENT | ENDS_ANSWER,
		.doubts = {INCOMPLETE, ABSENCE, HOSTS_LATE, EACH_TWICE, is_exception,
			may_be_damaged, may_be_late,
			IF(is_not_requested, "most gaps are without a NAK of the receiver")},
		.cause = CAUSE(4, "LOSS", NULL, RD_LIKELY, "Packets lost", LOST | UP, UPSTREAM)},
	{"never-arrives", RD_SEV_PROBLEM, RD_LIKELY, 0, never_arrives,
		"packets do not arrive here, however often the sender retransmits",
		"{attempts retransmission round} of which only later packets are here; a receiver "
		"responds to none after a missing one",
		OF_REQUESTS,
		.meaning = "nearly all is lost between the sender and this capture point, or all "
			   "packets of one kind: those longer than an MTU on the path",
		.next = "compare the lengths of those that arrive with the path MTU; capture at "
			"the sender too; ping -M do -s SIZE",
		.traits = SILENT | ENDS_ANSWER,
		.doubts = {INCOMPLETE, ABSENCE, IF(are_few_rounds, "there are few rounds")},
		.cause = CAUSE(4, "LOSS",
			"Packets from {s} to {r} do not arrive, however often they are "
			"retransmitted.",
			RD_LIKELY, "Last rounds without a response", 0, UPSTREAM)},
	{"responses-lost-downstream", RD_SEV_PROBLEM, RD_LIKELY, 0, responses_lost_downstream,
		"responses are lost between this capture point and the requester",
		"it retransmitted {responses_lost time} requests whose responses had been captured",
		OF_REQUESTS,
		.meaning = "loss on the path back: both directions need the same priority and PFC",
		.next = "capture at the requester too; compare DSCP or PCP of requests and "
			"responses",
		.traits = SILENT | ENDS_ANSWER,
		.doubts = {CAPTURE_LOST, NO_ORDER, CUT, TIMED_COPIES, HOST_COPIES, REUSED, ONCE,
			IF(is_response_unclear, "all responses that were followed are here"),
			IF(may_be_far_away, "the timer may be too short for the path"),
			IF(has_forgotten_copies, "the file may have each packet twice")},
		.cause = CAUSE(5, "LOSS", NULL, RD_LIKELY, "Rounds for lost responses",
			LOST | DOWN | RESPONSES, BACK_DOWNSTREAM)},
	{"responses-lost-upstream", RD_SEV_PROBLEM, RD_LIKELY, HAPPENED(RESPONSE_GAP),
		responses_lost_upstream, "READ responses are lost upstream of this capture point",
		"{count gap} in the responses, {rounds_read request} retransmitted, "
		"{responses_repeated response} repeated",
		OF_RESPONSES, "infiniband.bth.opcode >= 13 && infiniband.bth.opcode <= 16",
		.meaning = "loss between the responder and this capture point, or the capture "
			   "missed them",
		.next = "capture at the responder too; look at discards of the switch ports "
			"between",
		.traits = SILENT | ENDS_ANSWER,
		.doubts = {INCOMPLETE, ABSENCE, NO_ORDER, PATHS, has_other_responses,
			are_gaps_and_rounds_apart},
		.cause = CAUSE(5, "LOSS", NULL, RD_LIKELY, "Gaps in responses",
			LOST | UP | RESPONSES, BACK_UPSTREAM)},
	{"unreliable-lost", RD_SEV_PROBLEM, RD_LIKELY, HAPPENED(UNSEEN), NULL,
		"packets of an unreliable connection are lost upstream of this capture point",
		"{unseen packet} in {gaps gap}, {share_unseen}, which break {messages_broken "
		"message}; UC does not retransmit them",
		OF_REQUESTS, .when = is_uc,
		.meaning = "loss on the path, which costs UC the whole message; or the capture "
			   "missed them",
		.next = "capture at the sender too; look at discards on the path",
		.doubts = {UNDECLARED, ABSENCE, NO_ORDER, breaks_nothing}, .traits = ENDS_ANSWER,
		.cause = CAUSE(4, "LOSS", NULL, RD_LIKELY, "Packets lost", LOST | UP, UPSTREAM)},
	{"datagram-gaps", RD_SEV_NOTE, RD_POSSIBLE, HAPPENED(UNSEEN), NULL,
		"the PSNs of a UD QP have gaps",
		"{unseen packet} in {gaps gap}, {share_unseen}: lost upstream of this capture "
		"point, missed by the capture, or sent to QPs that it does not see",
		OF_REQUESTS, .when = sends_to_one,
		.meaning = "UD does not retransmit: the application notices lost datagrams itself, "
			   "or nobody",
		.next = "capture at the sender too"},
	{"trimmed", RD_SEV_PROBLEM, RD_LIKELY, HAPPENED(TRIMMED),
		.title = "packets lost their payload upstream of this capture point",
		.detail = "{count packet} with headers of a longer one, {share}",
		.filtered = OF_REQUESTS,
		.meaning = "a switch without room for them trimmed these packets: it sent their "
			   "headers on, so that the receiver requests them again at once",
		.next = "look at the queues and at the counters of trimmed packets of the "
			"switches; the DSCP of these packets is that of trimmed ones",
		.cause = CAUSE(4, "TRIMMED",
			"A switch trimmed packets from {s} to {r}, for which it had no room.",
			RD_LIKELY, "Packets trimmed", 0, ANYWHERE(FA))},
	{"damaged", RD_SEV_PROBLEM, RD_LIKELY, HAPPENED(ICRC), NULL,
		"frames are damaged upstream of this capture point",
		"{count frame} with a wrong invariant CRC, {share}; receivers drop them",
		OF_REQUESTS, .when = are_icrcs_trusted,
		.meaning = "a bad cable, transceiver or memory on the path, a device that rewrites "
			   "headers, or a capture of the sending host taken before the NIC "
			   "computed the CRC",
		.next = "capture at the receiver and look at its rx_icrc_encapsulated; look at "
			"symbol, FEC and FCS errors of every link on the path",
		.doubts = {is_half_damaged},
		.cause = CAUSE(3, "DAMAGED",
			"Frames from {s} to {r} are damaged on the way, and dropped by receivers.",
			RD_LIKELY, "Frames damaged", 0, UPSTREAM)},
	{0},
};
