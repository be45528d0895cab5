/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Retransmission rounds of an RC sender: why each begins, where, and what belongs to it. IBTA
 * volume 1, 9.9.2.
 */
#include "round.h"
#include "request.h"

/* --- delayed messages ------------------------------------------------------------------------- */

/*
 * Messages that retransmission rounds delayed: those whose last packet was retransmitted, and the
 * one that was under way when a round began. Each counts once, however many rounds it needed; where
 * that is not sure, it does not count.
 */

uint64_t messages_of(const struct flow *f)
{
	uint64_t sum = 0;

	for (unsigned int v = 0; v < RD_VERB_COUNT; v++)
		if (f->req.verb_at[v])
			sum += f->req.verbs[f->req.verb_at[v] - 1].messages;
	return sum;
}

void delayed_packet(struct rd_analysis *a, struct flow *f, struct trouble *t, const struct item *it,
	uint32_t span)
{
	const uint32_t end = psn_add(it->p->psn, span);

	t->within = !(it->p->op->bits & RD_OP_LAST);
	if (t->within || (t->any_delayed && psn_diff(end, t->delayed_end) <= 0))
		return;
	t->any_delayed = true;
	t->delayed_end = end;
	/* It may be the message that delayed_rest() counted. */
	if (!t->rest_delayed)
		flow_incident(a, f, RD_INC_DELAYED, 1);
	t->rest_delayed = false;
}

/* A round ended with a new packet: counts the message that it continues. */
static void delayed_rest(struct rd_analysis *a, struct flow *f, struct trouble *t)
{
	const uint64_t number = messages_of(f);

	if (!t->within || (t->rest_delayed && t->rest == number))
		return;
	t->rest_delayed = true;
	t->rest = number;
	flow_incident(a, f, RD_INC_DELAYED, 1);
}

void delayed_take_back(struct flow *f, struct trouble *t, uint32_t end)
{
	if (t->any_delayed && t->delayed_end == end)
		flow_take_back(f, RD_INC_DELAYED);
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* Whether a NAK has had no round yet, and one that begins anywhere is its round. */
static bool nak_waits(const struct flow *f)
{
	return f->ack.nak_frame && !(f->trouble && f->trouble->leftover);
}

static enum rd_incident_kind round_cause(const struct flow *f, uint32_t psn)
{
	if (f->ack.rnr_frame)
		return RD_INC_ROUND_RNR;
	if (nak_waits(f) || (f->ack.nak_frame && psn == f->ack.nak_psn))
		return RD_INC_ROUND_NAK;
	return f->ack.gap_open ? RD_INC_ROUND_READ : RD_INC_ROUND_TIMEOUT;
}

uint32_t round_origin(const struct flow *f)
{
	if (f->ack.rnr_frame)
		return f->ack.rnr_psn;
	if (nak_waits(f))
		return f->ack.nak_psn;
	return f->ack.gap_open ? f->ack.gap_psn : f->ack.una;
}

/* The round of a NAK begins at `start`; that of a second NAK may follow. */
static void nak_done(struct flow *f, struct trouble *t, uint32_t start)
{
	if (t->two_naks) {
		t->leftover = true;
	} else if (!t->leftover || start == f->ack.nak_psn) {
		f->ack.nak_frame = 0;
		t->leftover = false;
	}
	t->two_naks = false;
}

/*
 * Whether a packet was retransmitted, by its IP identification, though all requests are
 * acknowledged: the ACK came too late for the sender's timer.
 */
static bool is_late_timer(const struct flow *f, const struct item *it)
{
	return f->ack.acked && f->ack.una == f->req.next && !f->ack.nak_frame &&
	       !f->ack.rnr_frame && flow_sent(f, it) == SENT_AFTER;
}

bool round_goes_back(struct flow *f, const struct item *it, uint32_t span, uint32_t *start)
{
	uint32_t origin = round_origin(f), psn = it->p->psn;
	bool second = f->round.straggler && psn == f->round.straggler_next;

	if (!f->ack.acked && !nak_waits(f) && !f->ack.rnr_frame)
		origin = psn;
	f->round.straggler = false;
	*start = second ? f->round.straggler_psn : psn;
	if (psn_diff(*start, origin) > 0)
		*start = origin;
	if (second || psn == origin || psn_add(psn, span) == f->req.next || is_late_timer(f, it))
		return true;
	f->round.straggler = true;
	f->round.straggler_fetches = it->p->op->bits & (RD_OP_READ | RD_OP_ATOMIC);
	f->round.straggler_psn = psn;
	f->round.straggler_next = psn_add(psn, span);
	return false;
}

/* The longest time that a packet may be on its way between this point and the requester. */
static uint64_t longest_delay(const struct flow *f)
{
	return f->ack.waited_ns > UNDER_WAY_NS ? f->ack.waited_ns : UNDER_WAY_NS;
}

/*
 * The turnaround: how long it takes from this point to the requester and back, no longer than the
 * requester took to react to a NAK, or to respond to a request. 0: unknown.
 */
static uint64_t turnaround(const struct flow *f)
{
	uint64_t n, back = f->pair.peer ? shortest_response(f->pair.peer, &n) : UINT64_MAX;
	uint64_t nak = f->ack.turn_ns ? f->ack.turn_ns - 1 : UINT64_MAX;
	uint64_t least = nak < back ? nak : back;

	return least == UINT64_MAX ? 0 : least;
}

/*
 * After this time a response that was captured is not on its way any more. Requests that follow
 * others at once show only that the path is not longer.
 */
static uint64_t longest_turnaround(const struct flow *f)
{
	uint64_t known = turnaround(f), delay = longest_delay(f), next = f->ack.next_ns;

	if (!known)
		known = next < LONGEST_PATH_NS ? next : LONGEST_PATH_NS;
	return known > delay ? known : delay;
}

/*
 * The response to what a round without a NAK repeats was captured before. Within the turnaround
 * both crossed on the path; much later, it was lost there. Between both, either may be.
 */
static void round_answered(struct rd_analysis *a, struct flow *f)
{
	uint64_t since = a->ns - f->req.progress_ns;

	if (since <= turnaround(f))
		round_crossed(a, f);
	else if (since > longest_turnaround(f))
		flow_incident(a, f, RD_INC_RESPONSE_LOST, 1);
	else
		f->round.unclear++;
}

/* A round without a NAK: measures how long the sender waited. */
static void round_without_reason(
	struct rd_analysis *a, struct flow *f, uint32_t psn, uint32_t span, bool gap)
{
	bool answered = f->ack.acked && psn_diff(psn_add(psn, span), f->ack.una) <= 0;
	uint64_t since = answered ? f->req.progress_ns - f->ack.waited_ns : f->ack.open_since_ns;

	/* Without the responses only the sender's own silence is known. */
	if (!f->ack.acked && since && f->req.progress_ns > since)
		since = f->req.progress_ns;
	f->round.waited_ns = since && a->ns > since ? a->ns - since : 0;
	if (!gap && f->round.waited_ns &&
		!hist_add(&f->ack.latencies[RD_LATENCY_TIMEOUT], f->round.waited_ns))
		a->out_of_memory = true;
	f->round.silent = !gap && !answered;
	if (answered)
		round_answered(a, f);
}

/* `start` is where a round without a NAK begins; the round before it is still known. */
static void waits_take(
	struct rd_analysis *a, const struct flow *f, struct trouble *t, uint32_t start)
{
	const uint32_t before = f->round.psn == start ? f->round.attempts : 0;
	struct waits *now;

	if (!before)
		t->first_wait_us = wait_us(f->round.waited_ns);
	if (!before || !t->first_wait_us || before >= WAITS)
		return;
	if (!t->waits)
		t->waits = must(a, calloc(WAITS_KINDS, sizeof(*t->waits)));
	if (!t->waits)
		return;
	now = &t->waits[WAITS_NOW];
	if (before == 1)
		*now = (struct waits){.n = 1, .us = {t->first_wait_us}};
	else if (now->n != before)
		return;
	now->us[now->n++] = wait_us(a->ns - t->round_ns);
	if (now->n >= t->waits[WAITS_MOST].n)
		t->waits[WAITS_MOST] = *now;
}

/*
 * READs and atomics have responses of their own: a requester that gets a later one repeats them at
 * once, while all responses were captured. The later one may belong to the same READ: then a
 * requester that waits longer has got none of them. With other requests between them it is unknown
 * which were.
 */
static bool response_is_missing(
	struct rd_analysis *a, struct flow *f, bool fetches, uint32_t psn, uint32_t span)
{
	bool later = psn_diff(psn_add(psn, span), f->ack.una) < 0;
	bool within = psn_diff(psn_add(psn, 1), f->ack.una) < 0 &&
		      a->ns - f->req.progress_ns <= longest_delay(f);

	if (!fetches || !f->ack.acked || (!later && !within))
		return false;
	if (!f->req.verb_at[RD_VERB_SEND] && !f->req.verb_at[RD_VERB_WRITE])
		flow_incident(a, f, RD_INC_RESPONSE_LOST, 1);
	return true;
}

/* A NAK before the capture may be the cause of a round that begins before its first frame. */
static bool cause_is_before(
	const struct flow *f, enum rd_incident_kind cause, uint32_t start, uint32_t psn)
{
	return cause == RD_INC_ROUND_TIMEOUT && !f->ack.acked &&
	       (before_capture(f, start, 1) || before_capture(f, psn, 1));
}

/* A requester that goes back for a response after all did not have it, only a slow timer. */
static void gap_returns(struct flow *f, uint32_t start)
{
	for (; f->ack.passed && psn_diff(start, f->ack.passed_psn) <= 0; f->ack.passed--)
		flow_take_back(f, RD_INC_RESPONSE_UNSEEN);
	f->ack.passed = 0;
}

/* Whether a round, which should begin at `start`, lacks what the capture had of it before. */
static bool is_passed_over(
	const struct flow *f, const struct trouble *t, uint32_t start, uint32_t psn)
{
	return start != psn && start != f->round.straggler_psn && !seq_is_hole(&t->seen, start);
}

void round_begin(struct rd_analysis *a, struct flow *f, struct trouble *t, uint32_t start,
	uint32_t psn, uint32_t span)
{
	enum rd_incident_kind cause = round_cause(f, start);
	const bool first = start == psn;
	bool missing = cause == RD_INC_ROUND_TIMEOUT &&
		       response_is_missing(a, f, first ? t->fetches : f->round.straggler_fetches,
			       start, first ? span : 1);

	f->round.silent = false;
	if (missing || cause != RD_INC_ROUND_TIMEOUT)
		t->first_wait_us = 0;
	gap_returns(f, start);
	if (cause == RD_INC_ROUND_NAK && start == f->ack.nak_psn && !t->leftover && !t->two_naks)
		shortest(&f->ack.turn_ns, f->ack.nak_ns, a->ns);
	if (missing) {
		flow_incident(a, f, RD_INC_ROUND_READ, 1);
	} else if (!cause_is_before(f, cause, start, psn)) {
		flow_incident(a, f, cause, 1);
		if (cause == RD_INC_ROUND_TIMEOUT || cause == RD_INC_ROUND_READ)
			round_without_reason(a, f, psn, span, cause == RD_INC_ROUND_READ);
		if (cause == RD_INC_ROUND_TIMEOUT)
			waits_take(a, f, t, start);
	}
	if (f->ack.open_since_ns)
		f->ack.open_since_ns = a->ns;
	/* A sender that begins with a later packet got a response to the first ones. */
	f->round.attempts = f->round.attempts && f->round.psn == start
				    ? f->round.attempts + !is_passed_over(f, t, start, psn)
				    : 1;
	f->ack.rnr_frame = 0;
	nak_done(f, t, start);
	f->round.psn = start;
	f->round.frame = a->frame;
	t->round_ns = a->ns;
	f->round.top = f->req.next;
	f->round.active = f->req.slow = true;
	f->ack.waiting_n = 0; /* a response could be one to either */
	seq_restart(&t->pass, start);
	seq_add_hole(&t->pass, start, (uint32_t)psn_diff(psn, start));
	f->req.at = psn_add(psn, span);
}

void round_end(struct rd_analysis *a, struct flow *f, struct trouble *t)
{
	if (f->round.active && f->req.at != f->req.next)
		flow_incident(a, f, RD_INC_SELECTIVE, 1);
	else if (f->round.active)
		delayed_rest(a, f, t);
	f->round.active = false;
}

/*
 * Whether a packet ahead in a round begins another one: a NAK after the beginning of this round
 * requests it. The next one in sequence would follow anyway, unless the sender retransmits single
 * packets, as it has done before.
 */
static bool is_next_nak(const struct flow *f, uint32_t psn, int32_t ahead)
{
	if (f->ack.nak_frame <= f->round.frame || f->ack.nak_psn != psn)
		return false;
	return ahead > 0 || (!ahead && psn == psn_add(f->round.psn, 1) &&
				    incident_of(&f->incidents, RD_INC_SELECTIVE));
}

void round_take(struct rd_analysis *a, struct flow *f, struct trouble *t, const struct item *it,
	uint32_t span)
{
	uint32_t psn = it->p->psn;
	int32_t ahead = psn_diff(psn, f->req.at);
	int32_t front = psn_diff(t->pass.start, psn);
	uint32_t start;

	if (is_next_nak(f, psn, ahead)) {
		round_end(a, f, t);
		round_begin(a, f, t, psn, psn, span);
	} else if (ahead >= 0) {
		seq_add_hole(&t->pass, f->req.at, (uint32_t)ahead);
		f->req.at = psn_add(psn, span);
	} else if (front > 0) {
		t->pass.start = psn;
		if ((uint32_t)front > span)
			seq_add_hole(&t->pass, psn_add(psn, span), (uint32_t)front - span);
	} else if (!seq_fill(&t->pass, psn, span) && round_goes_back(f, it, span, &start)) {
		round_begin(a, f, t, start, psn, span);
	}
}
