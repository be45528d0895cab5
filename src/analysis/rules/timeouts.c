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

/* The n of 4.096 us * 2^n that a timer of a host, which may be late, waits for; 0: none. */
static unsigned int exponent(uint64_t ns)
{
	for (unsigned int i = 1; i < 32; i++) {
		const uint64_t most = rd_cm_timeout_ns(i) + rd_cm_timeout_ns(i) / 4;

		if (ns <= most)
			return ns >= rd_cm_timeout_ns(i) - rd_cm_timeout_ns(i) / 16 ? i : 0;
	}
	return 0;
}

/* A ConnectX doubles the formula, and takes a lower timeout for this one. */
#define FLOOR 16U

const char *timer_text(char buf[TIMER_LEN], const struct look *l)
{
	const struct rd_timer *t = &l->s->timer;
	const unsigned int e = exponent(UINT64_C(1000) * t->timeout_us);
	char time[RD_UNITS_LEN];
	int len = 0;

	*buf = '\0';
	if (t->adaptive)
		len = snprintf(buf, TIMER_LEN,
			"%u resends within %s as by a ConnectX's adaptive retransmission%s",
			t->adaptive, rd_fmt_duration(time, UINT64_C(1000) * t->adaptive_us),
			t->timeouts ? ", then " : "");
	if (!t->timeouts)
		return buf;
	len += snprintf(buf + len, (size_t)(TIMER_LEN - len), "%u timeout%s of %s", t->timeouts,
		rd_plural(t->timeouts), rd_fmt_duration(time, UINT64_C(1000) * t->timeout_us));
	if (t->adaptive && e == FLOOR + 1)
		snprintf(buf + len, (size_t)(TIMER_LEN - len),
			", the floor of its firmware for timeouts up to %u", FLOOR);
	else if (t->adaptive && e > FLOOR)
		snprintf(buf + len, (size_t)(TIMER_LEN - len),
			", which are twice those of timeout %u", e - 1);
	else if (e > FLOOR)
		snprintf(buf + len, (size_t)(TIMER_LEN - len),
			", as with timeout %u, or %s%u on a ConnectX", e,
			e - 1 == FLOOR ? "up to " : "", e - 1);
	else if (e)
		snprintf(buf + len, (size_t)(TIMER_LEN - len), ", as with timeout %u", e);
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
bool is_sooner(const struct look *l)
{
	return latency(l, RD_LATENCY_TIMEOUT)->p50 * 2 < response_time(l);
}
DOUBT(is_no_timer, "packets are late, or it is sooner than responses come",
	count(l, RD_INC_REORDERED) || count(l, RD_INC_REORDERED_DOWNSTREAM) || is_sooner(l))

/*
 * Few and short waits, where most rounds have a NAK or a missing response: theirs was missed; or a
 * receiver that is not ready sent two NAKs for one packet, and the sender went back for each.
 */
DOUBT(is_exception, "most rounds have a NAK: that of these may be missing",
	count(l, RD_INC_ROUND_NAK) + count(l, RD_INC_ROUND_RNR) + count(l, RD_INC_ROUND_READ) >
			count(l, RD_INC_ROUND_TIMEOUT) &&
		latency(l, RD_LATENCY_TIMEOUT)->p50 < MS)

/*
 * Short waits where most copies of a mirror were found, but it may have more: beyond the packets
 * whose identifications are remembered, or of all packets of a sender that has none.
 */
DOUBT(may_be_copies, "copies of a mirror look the same",
	latency(l, RD_LATENCY_TIMEOUT)->p50 < MS &&
		(copies_of(l) > rounds(l) || (!l->s->identified && is_all_again(l->s))))

/* A NAK may be missing, or came before the capture; or the response was there in time. */
DOUBT(lacks_naks, "gaps are without a NAK, which may be missing here, too",
	gaps_without_nak(l) * 2 >= l->f->evidence.count)

DOUBT(may_be_answered, "responses may have been there in time",
	UINT64_C(2) * l->s->unclear_rounds >= l->f->evidence.count)

/* Retransmitted after a timeout, though neither requests nor responses are known to be lost. */
static bool timeout_rounds(const struct look *l, struct rd_finding *f)
{
	const bool ends = l->s->end.how == RD_ENDING_RETRY || l->s->end.how == RD_ENDING_STOPPED;
	uint64_t others = count(l, RD_INC_RESPONSE_LOST) + count(l, RD_INC_CROSSED);
	char waited[WAITED_LEN], all[IN_ALL_LEN] = "";

	/* The rounds at the end, in which a sender no longer gets a response. */
	others += ends ? l->s->end.attempts : 0;
	/* READs and atomics are also repeated without a timer, for a response that is missing. */
	if (rd_side_verb(l->s, RD_VERB_READ)->messages ||
		rd_side_verb(l->s, RD_VERB_ATOMIC)->messages)
		others += l->s->unclear_rounds;
	if (f->evidence.count <= others || !is_rc(l) || !has_responses(l))
		return false;
	f->evidence.count -= others;
	/* How many packets each round has is not counted. */
	if (rounds(l) > f->evidence.count)
		snprintf(all, sizeof(all), " in all %llu rounds", n(rounds(l)));
	rd_finding_detail(f, "%llu time%s, %s; %llu packet%s retransmitted%s", n(f->evidence.count),
		rd_plural(f->evidence.count),
		waited_text(waited, l, RD_LATENCY_TIMEOUT, f->evidence.count),
		n(count(l, RD_INC_RETRANSMITTED)), rd_plural(count(l, RD_INC_RETRANSMITTED)), all);
	return true;
}

/* Nothing that the application sets changes when a ConnectX repeats. */
static const char of_firmware[] = "look at the adapter's firmware: `mlxreg --reg_name ROCE_ACCL` "
				  "(adaptive retransmission, min_ack_timeout_limit_disabled)";

static bool timeout_short(const struct look *l, struct rd_finding *f)
{
	const struct rd_latency *took = latency(l, RD_LATENCY_MESSAGE);
	char waited[WAITED_LEN], most[RD_UNITS_LEN];

	rd_finding_detail(f, "%llu time%s, %s", n(f->evidence.count), rd_plural(f->evidence.count),
		waited_text(waited, l, RD_LATENCY_CROSSED, f->evidence.count));
	if (took->n)
		finding_append(f, "ACKs of messages take up to %s (p99)",
			rd_fmt_duration(most, took->p99));
	if (l->s->timer.adaptive) {
		char timer[TIMER_LEN];

		finding_append(f, "%s", timer_text(timer, l));
		f->meaning = "the path is slower than the first steps of the firmware's adaptive "
			     "retransmission, to which the QP's timeout is only the upper limit";
		f->next = of_firmware;
	}
	return true;
}

/* Without the responses it is unknown how long the sender waited for one. */
static bool timeout_long(const struct look *l, struct rd_finding *f)
{
	char wait[RD_UNITS_LEN];

	if (latency(l, RD_LATENCY_TIMEOUT)->p50 < 500 * MS || (!l->other->seen && made_progress(l)))
		return false;
	finding_evidence(f, incident(l, RD_INC_ROUND_TIMEOUT));
	rd_finding_detail(f, "each loss without a NAK costs %s, the median of %llu",
		rd_fmt_duration(wait, latency(l, RD_LATENCY_TIMEOUT)->p50),
		n(latency(l, RD_LATENCY_TIMEOUT)->n));
	if (exponent(latency(l, RD_LATENCY_TIMEOUT)->p50) == FLOOR + 1) {
		f->meaning = "a ConnectX takes QP timeouts below 16 for 16, and doubles it; or the "
			     "QP's timeout is 17 there";
		f->next = "find out why packets are lost; on a ConnectX a lower timeout of the QP "
			  "changes nothing below 16: look at `mlxreg --reg_name ROCE_ACCL`";
	}
	return true;
}

static bool stalled(const struct look *l, struct rd_finding *f)
{
	uint64_t stall = l->s->stall.ns;
	char wait[RD_UNITS_LEN];

	/* A wait of one step of the clock may have been none. */
	if (stall < 200 * MS + l->r->totals.step_ns ||
		latency(l, RD_LATENCY_MESSAGE)->p50 * 20 > stall || count(l, RD_INC_RNR))
		return false;
	if (l->s->stall.doubtful)
		f->meaning = "the receiver or the path was slow; or the clock of the capture was "
			     "set, since no QP had a frame during that time";
	f->evidence.count = 1;
	rd_finding_frame(f, l->s->stall.frame);
	rd_finding_detail(
		f, "%s without an ACK while requests were open", rd_fmt_duration(wait, stall));
	return true;
}

DOUBT(may_be_clock, "the clock may have been set: all QPs were silent", l->s->stall.doubtful)

/* What makes rounds look like those of a timer. */
#define OTHER_ROUNDS is_no_timer, may_be_copies, REUSED, NO_TIMER, ABSENCE

const struct rule rules_of_timeouts[] = {
	{"timeout", RD_SEV_WARNING, RD_LIKELY, HAPPENED(ROUND_TIMEOUT), timeout_rounds,
		"requests were retransmitted because no response came in time", NULL, OF_REQUESTS,
		.meaning = "the last packet of a burst or its response was lost, or the receiver "
			   "was slower than the sender's timer",
		.next = "capture at the other end; look whether the retransmitted requests arrive "
			"twice",
		.traits = SILENT | BY_TIMER,
		.doubts = {INCOMPLETE, BEFORE, OTHER_ROUNDS, lacks_naks, may_be_answered,
			is_exception},
		.cause = CAUSE(9, "TIMEOUT",
			"{s} repeated requests, since responses of {r} did not come in time.",
			RD_LIKELY, "Timeouts", 0, SN | FA | RN | RH, SN | FA | RN | RH,
			SN | FA | RN | RH)},
	{"timeout-short", RD_SEV_WARNING, RD_LIKELY, HAPPENED(CROSSED), timeout_short,
		"requests were retransmitted while their responses were on their way", NULL,
		OF_REQUESTS,
		.meaning = "the sender's timer is near what path and responder need: the QP's "
			   "timeout (4.096 us * 2^timeout), or, with adaptive retransmission, a "
			   "schedule of the firmware, of which that timeout is only the upper "
			   "limit",
		.next = "see whether roce_adp_retrans or roce_adp_retrans_to of the sender grow: "
			"then look at `mlxreg --reg_name ROCE_ACCL`, else raise the QP's timeout "
			"attribute",
		.doubts = {ONCE, DISORDERED, TIMED_COPIES, COARSE_CLOCK, OTHER_ROUNDS},
		.traits = BY_TIMER,
		.cause = CAUSE(9, "TIMEOUT",
			"{s} repeats requests while their responses are on the way: its timer is "
			"too short.",
			RD_LIKELY, "Needless rounds", 0, ANYWHERE(SH))},
	{"timeout-long", RD_SEV_NOTE, RD_LIKELY, 0, timeout_long,
		"the retransmission timeout is long", NULL, OF_REQUESTS,
		.meaning = "the QP's timeout attribute is high; NICs multiply it by up to four",
		.next = "lower the QP's timeout attribute where that is possible", .traits = SILENT,
		.doubts = {INCOMPLETE, ABSENCE, ONCE}},
	{"stall", RD_SEV_WARNING, RD_LIKELY, 0, stalled, "a response took long", NULL, OF_REQUESTS,
		.meaning = "pauses (PFC), a busy receiver, or loss that this capture does not show",
		.next = "look at rx_pause and tx_pause counters and at the load of the responder",
		.traits = SILENT,
		.doubts = {INCOMPLETE, ABSENCE, /* an ACK may be missing */
			may_be_clock},
		.cause = CAUSE(10, "STALL", "A response of {r} to {s} took very long.", RD_LIKELY,
			"Long waits", 0, UNANSWERED)},
	{0},
};
