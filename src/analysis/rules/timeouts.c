/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over one side of a conversation: rounds without a NAK, and long waits. */
#include "look.h"

#define MS UINT64_C(1000000)

#define IN_ALL_LEN 64 /* " in all 23 rounds" */

const char *waited_text(
	char buf[WAITED_LEN], const struct look *l, enum rd_latency_kind kind, uint64_t rounds)
{
	const struct rd_latency *t = latency(l, kind);
	char range[RANGE_LEN], time[RD_UNITS_LEN], of[IN_ALL_LEN] = "";
	int len = snprintf(buf, WAITED_LEN, "%s%s", t->n ? "after " : "at once",
		t->n ? rd_fmt_duration(time, t->p50) : "");

	if (t->n > rounds)
		snprintf(of, sizeof(of), " of all %llu such waits", n(t->n));
	if (*range_text(range, t))
		len += snprintf(
			buf + len, (size_t)(WAITED_LEN - len), " (median%s; %s)", of, range);
	if (l->s->ack_timeout)
		snprintf(buf + len, (size_t)(WAITED_LEN - len),
			", where the CM's request has a timeout of %s",
			rd_fmt_duration(time, rd_cm_timeout_ns(l->s->ack_timeout)));
	return buf;
}

/* The usual time of a response; 0: unknown. */
static uint64_t response_time(const struct look *l)
{
	static const uint8_t kinds[] = {RD_LATENCY_ACK, RD_LATENCY_READ, RD_LATENCY_ATOMIC};

	for (size_t i = 0; i < sizeof(kinds); i++)
		if (latency(l, kinds[i])->n)
			return latency(l, kinds[i])->p50;
	return 0;
}

/*
 * Rounds that begin sooner than responses usually come are rather late effects of NAKs, or doubled
 * frames without IP identifications.
 */
static bool is_no_timer(const struct look *l)
{
	return count(l, RD_INC_REORDERED) || count(l, RD_INC_REORDERED_DOWNSTREAM) ||
	       latency(l, RD_LATENCY_TIMEOUT)->p50 * 2 < response_time(l);
}

/*
 * Few and short waits, where most rounds have a NAK or a missing response: theirs was missed; or a
 * receiver that is not ready sent two NAKs for one packet, and the sender went back for each.
 */
static bool is_exception(const struct look *l)
{
	return count(l, RD_INC_ROUND_NAK) + count(l, RD_INC_ROUND_RNR) +
			       count(l, RD_INC_ROUND_READ) >
		       count(l, RD_INC_ROUND_TIMEOUT) &&
	       latency(l, RD_LATENCY_TIMEOUT)->p50 < MS;
}

/*
 * Short waits where most copies of a mirror were found, but it may have more: beyond the packets
 * whose identifications are remembered, or of all packets of a sender that has none.
 */
static bool may_be_copies(const struct look *l)
{
	uint64_t copies = count(l, RD_INC_DUPLICATED) + count(l, RD_INC_RESPONSE_DUPLICATED);

	return latency(l, RD_LATENCY_TIMEOUT)->p50 < MS &&
	       (copies > rounds(l) || (!l->s->identified && is_all_again(l)));
}

/* Retransmitted after a timeout, though neither requests nor responses are known to be lost. */
static bool timeout_rounds(const struct look *l, struct rd_finding *f)
{
	uint64_t silent = count(l, RD_INC_ROUND_TIMEOUT),
		 others =
			 count(l, RD_INC_RESPONSE_LOST) + count(l, RD_INC_CROSSED) + last_rounds(l);
	char waited[WAITED_LEN], all[IN_ALL_LEN] = "";

	/* READs and atomics are also repeated without a timer, for a response that is missing. */
	if (rd_side_verb(l->s, RD_VERB_READ)->messages ||
		rd_side_verb(l->s, RD_VERB_ATOMIC)->messages)
		others += l->s->unclear_rounds;
	if (silent <= others || !is_rc(l) || !has_responses(l))
		return false;
	finding_evidence(f, incident(l, RD_INC_ROUND_TIMEOUT));
	f->evidence.count = silent - others;
	/* A NAK may be missing, or came before the capture; or the response was there in time. */
	if (gaps_without_nak(l) * 2 >= f->evidence.count ||
		l->s->unclear_rounds * UINT64_C(2) >= f->evidence.count)
		finding_lower(f, RD_POSSIBLE);
	if (is_incomplete(l) || is_no_timer(l) || is_exception(l) || may_be_copies(l) ||
		count(l, RD_INC_FROM_BEFORE) || may_be_reused(l))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "requests were retransmitted because no response came in time");
	/* How many packets each round has is not counted. */
	if (rounds(l) > silent - others)
		snprintf(all, sizeof(all), " in all %llu rounds", n(rounds(l)));
	rd_finding_detail(f, "%llu time%s, %s; %llu packet%s retransmitted%s", n(silent - others),
		rd_plural(silent - others),
		waited_text(waited, l, RD_LATENCY_TIMEOUT, silent - others),
		n(count(l, RD_INC_RETRANSMITTED)), rd_plural(count(l, RD_INC_RETRANSMITTED)), all);
	filter_requests(l, f);
	return true;
}

static bool timeout_short(const struct look *l, struct rd_finding *f)
{
	uint64_t crossed = count(l, RD_INC_CROSSED);
	const struct rd_latency *took = latency(l, RD_LATENCY_MESSAGE);
	char waited[WAITED_LEN], most[RD_UNITS_LEN];

	if (!crossed)
		return false;
	finding_evidence(f, incident(l, RD_INC_CROSSED));
	if (crossed == 1 || is_no_timer(l) || is_disordered(l) || has_doubtful_copies(l) ||
		may_be_copies(l) || may_be_reused(l) || has_coarse_clock(l->r))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "requests were retransmitted while their responses were on their way");
	rd_finding_detail(f, "%llu time%s, %s", n(crossed), rd_plural(crossed),
		waited_text(waited, l, RD_LATENCY_CROSSED, crossed));
	if (took->n)
		finding_append(f, "ACKs of messages take up to %s (p99)",
			rd_fmt_duration(most, took->p99));
	filter_requests(l, f);
	return true;
}

/* Without the responses it is unknown how long the sender waited for one. */
static bool timeout_long(const struct look *l, struct rd_finding *f)
{
	char wait[RD_UNITS_LEN];

	if (latency(l, RD_LATENCY_TIMEOUT)->p50 < 500 * MS || (!l->other->seen && made_progress(l)))
		return false;
	finding_evidence(f, incident(l, RD_INC_ROUND_TIMEOUT));
	if (f->evidence.count == 1 || is_incomplete(l))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "the retransmission timeout is long");
	rd_finding_detail(f, "each loss without a NAK costs %s, the median of %llu",
		rd_fmt_duration(wait, latency(l, RD_LATENCY_TIMEOUT)->p50),
		n(latency(l, RD_LATENCY_TIMEOUT)->n));
	filter_requests(l, f);
	return true;
}

static bool stalled(const struct look *l, struct rd_finding *f)
{
	uint64_t stall = l->s->longest_stall_ns;
	char wait[RD_UNITS_LEN];

	if (stall < 200 * MS || latency(l, RD_LATENCY_MESSAGE)->p50 * 20 > stall ||
		count(l, RD_INC_RNR))
		return false;
	if (is_incomplete(l)) /* an ACK may be missing */
		finding_lower(f, RD_POSSIBLE);
	if (l->s->stall_doubtful) {
		finding_lower(f, RD_POSSIBLE);
		f->meaning = "the receiver or the path was slow; or the clock of the capture was "
			     "set, since no QP had a frame during that time";
	}
	f->evidence.count = 1;
	rd_finding_frame(f, l->s->stall_frame);
	rd_finding_title(f, "a response took long");
	rd_finding_detail(
		f, "%s without an ACK while requests were open", rd_fmt_duration(wait, stall));
	filter_requests(l, f);
	return true;
}

const struct rule rules_of_timeouts[] = {
	{{"timeout", RD_SEV_WARNING, RD_LIKELY,
		 "the last packet of a burst or its response was lost, or the receiver was slower "
		 "than the sender's timer",
		 "capture at the other end; look whether the retransmitted requests arrive twice"},
		timeout_rounds},
	{{"timeout-short", RD_SEV_WARNING, RD_LIKELY,
		 "the sender's timer is near what path and responder need: the QP's timeout (4.096 "
		 "us * 2^timeout), or, with adaptive retransmission, a schedule of the firmware, "
		 "of which that timeout is only the upper limit",
		 "see whether roce_adp_retrans or roce_adp_retrans_to of the sender grow: then "
		 "look "
		 "at `mlxreg --reg_name ROCE_ACCL`, else raise the QP's timeout attribute"},
		timeout_short},
	{{"timeout-long", RD_SEV_NOTE, RD_LIKELY,
		 "the QP's timeout attribute is high; NICs multiply it by up to four",
		 "lower the QP's timeout attribute where that is possible"},
		timeout_long},
	{{"stall", RD_SEV_WARNING, RD_LIKELY,
		 "pauses (PFC), a busy receiver, or loss that this capture does not show",
		 "look at rx_pause and tx_pause counters and at the load of the responder"},
		stalled},
	{{0}, NULL},
};
