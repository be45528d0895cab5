/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an acknowledgement shows about requests: delivered, late, lost, or not captured. */
#include "request.h"

#define READS_OPEN 128			/* READs that may be open at once */
#define GAP_NS	   UINT64_C(4000000)	/* a requester goes back sooner for a missing response */
#define AGAIN_NS   UINT64_C(1000000000) /* where it did and misses it again, it waits for a timer */
#define STEP_NS	   UINT64_C(1000) /* of most files; longer ones are rather pauses of the traffic */
#define SAMPLES	   4		  /* responses, before the shortest of them is worth anything */

static void latency(struct rd_analysis *a, struct flow *r, enum rd_latency_kind kind, uint64_t ns)
{
	if (!hist_add(&r->ack.latencies[kind], ns))
		a->out_of_memory = true;
}

static void sample(struct rd_analysis *a, struct flow *r, const struct waiting *w, uint64_t ns)
{
	struct rd_point *point = grid_point(&a->grid, r->all.row, ns);
	uint64_t took = ns - w->last_ns;

	if (ns < w->last_ns)
		return;
	if (w->verb == RD_VERB_READ) {
		latency(a, r, RD_LATENCY_READ, took);
	} else if (w->verb == RD_VERB_ATOMIC) {
		latency(a, r, RD_LATENCY_ATOMIC, took);
	} else {
		latency(a, r, RD_LATENCY_ACK, took);
		latency(a, r, RD_LATENCY_MESSAGE, ns - w->first_ns);
	}
	point->latency_n++;
	point->latency_sum_ns += took;
	if (took > point->latency_max_ns)
		point->latency_max_ns = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
}

/* The response to this request or to a later one: the shortest is no longer than since then. */
static void takes_at_most(struct flow *r, const struct waiting *w, uint64_t ns)
{
	shortest(&r->ack.first_ns, w->last_ns, ns);
}

/* The first response to a READ: the last one comes later, the more there are. */
static void first_response(struct flow *r, const struct waiting *w, uint64_t ns)
{
	takes_at_most(r, w, ns);
	if (r->ack.first_ns && r->ack.firsts < UINT8_MAX)
		r->ack.firsts++;
}

/*
 * Ends the wait of requests before `upto`; the last one of them is a latency sample. Returns false
 * where a READ or an atomic is among them whose last response was not captured: *missing. Requests
 * wait in the order of the capture: one that came late may have had its responses before. If it is
 * not `known` whether all responses so far were captured, none is missing.
 */
static inline bool waiting_done(struct rd_analysis *a, struct flow *r, uint32_t upto, uint64_t ns,
	bool known, uint32_t *missing)
{
	while (r->ack.waiting_n) {
		const struct waiting *w = waiting_at(r, 0);
		int32_t d = psn_diff(upto, psn_add(w->psn, w->span));

		if (w->verb == RD_VERB_READ && psn_diff(upto, w->psn) == 1)
			first_response(r, w, ns);
		if (d < 0)
			return true;
		if (d == 0) {
			sample(a, r, w, ns);
		} else if (known && (w->verb == RD_VERB_READ || w->verb == RD_VERB_ATOMIC) &&
			   psn_diff(psn_add(w->psn, w->span), r->ack.una) > 0) {
			*missing = w->psn;
			return false;
		} else {
			takes_at_most(r, w, ns);
		}
		waiting_next(r);
	}
	return true;
}

void gap_begin(struct rd_analysis *a, struct flow *r, uint32_t psn)
{
	if (r->ack.gap_open)
		return;
	if (r->pair.peer)
		flow_incident(a, r->pair.peer, RD_INC_RESPONSE_GAP, 1);
	r->ack.gap_open = true;
	r->ack.gap_psn = psn & 0xffffff;
	r->ack.gap_responses = 0;
	r->ack.gaps = 1 + r->ack.gaps_late;
	r->ack.gaps_late = 0;
	r->ack.gap_ns = a->ns;
}

/* One in the second half of the wait may still be requested again when that is over. */
void gap_more(const struct rd_analysis *a, struct flow *r)
{
	if (r->ack.gap_responses <= READS_OPEN / 2 && a->ns - r->ack.gap_ns < GAP_NS / 2)
		r->ack.gaps++;
	else
		r->ack.gaps_late++;
}

void gap_passed(struct rd_analysis *a, struct flow *r)
{
	uint64_t since = a->ns - r->ack.gap_ns;
	const struct rd_incident *repeated = incident_of(&r->incidents, RD_INC_RETRANSMITTED);
	/* The requester repeated requests since then, or went back for this response before. */
	bool again = r->round.frame && (r->round.psn == r->ack.gap_psn ||
					       (repeated && repeated->last_ns >= r->ack.gap_ns));

	if (r->round.active)
		return;
	if (again ? since < AGAIN_NS : ++r->ack.gap_responses <= READS_OPEN && since < GAP_NS)
		return;
	flow_incident(a, r, RD_INC_RESPONSE_UNSEEN, again ? 1 : r->ack.gaps);
	if (!r->ack.passed)
		r->ack.passed_psn = r->ack.gap_psn;
	r->ack.passed += again ? 1 : r->ack.gaps;
	if (again)
		r->ack.gaps_late = 0;
	r->ack.gap_open = false;
	r->ack.waiting_n = 0;
}

static void unseen(struct rd_analysis *a, struct flow *r, uint32_t upto, uint32_t ahead)
{
	struct trouble *t = r->req.read_open ? NULL : flow_trouble(a, r);

	if (!r->req.read_open)
		flow_incident(a, r, RD_INC_UNSEEN, ahead);
	if (t)
		seq_add_hole(&t->unseen, r->req.next, ahead);
	/* A READ of unknown length has at least these responses. */
	if (r->req.read_open && r->req.read_length == READ_UNKNOWN)
		r->req.read_psn = psn_add(upto, 0xffffff);
	else
		r->req.read_open = false;
	r->req.next = r->req.at = r->receiver.expected = upto;
	r->req.slow = r->round.active = false;
	r->req.late_n = 0;
	r->req.message_bytes = MESSAGE_UNSIZED;
}

/* The gaps before `upto`: their packets may be captured after this ACK. */
static void gap_unseen(struct rd_analysis *a, struct flow *r, uint32_t upto)
{
	struct trouble *t = r->trouble;

	for (unsigned int i = 0; i < t->seen.n_holes; i++) {
		const struct hole *h = &t->seen.holes[i];
		int32_t ahead = psn_diff(upto, h->psn);

		if (ahead > 0)
			seq_add_hole(&t->unseen, h->psn, RD_MIN((uint32_t)ahead, h->n));
	}
	flow_incident(a, r, RD_INC_UNSEEN, seq_close(&t->seen, upto));
}

/* Whether nearly all of a wait is one pause of all traffic: the clock may have been set then. */
static bool is_pause(const struct rd_analysis *a, uint64_t since, uint64_t ns)
{
	return a->pause_ns > (ns - since) / 8 * 7 && a->pause_end_ns <= ns &&
	       a->pause_end_ns - a->pause_ns >= since;
}

static void stalled(struct rd_analysis *a, struct flow *r, uint64_t ns)
{
	if (ns > r->ack.open_since_ns && ns - r->ack.open_since_ns > r->ack.stall.ns) {
		r->ack.stall.ns = ns - r->ack.open_since_ns;
		r->ack.stall.frame = a->frame;
		r->ack.stall.doubtful = is_pause(a, r->ack.open_since_ns, ns);
	}
}

uint64_t shortest_response(const struct flow *r, uint64_t *n)
{
	static const uint8_t kinds[] = {RD_LATENCY_ACK, RD_LATENCY_ATOMIC};
	uint64_t min = r->ack.first_ns ? r->ack.first_ns : UINT64_MAX;

	*n = r->ack.firsts;
	for (size_t i = 0; i < sizeof(kinds); i++) {
		const struct hist *h = r->ack.latencies[kinds[i]];

		if (!h)
			continue;
		*n += h->n;
		min = RD_MIN(min, h->min);
	}
	return min;
}

/*
 * Whether a response that comes so long after a request cannot be the response to it; `step`: how
 * exact times are.
 */
static bool is_too_soon(const struct flow *r, uint64_t ns, uint64_t step)
{
	uint64_t n, min = shortest_response(r, &n);

	return n >= SAMPLES && (ns + step) * 4 < (min - (min < step ? min : step)) * 3;
}

void round_crossed(struct rd_analysis *a, struct flow *f)
{
	flow_incident(a, f, RD_INC_CROSSED, 1);
	if (f->round.waited_ns &&
		!hist_add(&f->ack.latencies[RD_LATENCY_CROSSED], f->round.waited_ns))
		a->out_of_memory = true;
}

/*
 * A round without a NAK, whose response comes sooner than any response to a request: it was on its
 * way when the round began, and nothing had been lost.
 */
static void round_was_early(struct rd_analysis *a, struct flow *r, uint64_t ns)
{
	r->round.silent = false;
	if (r->ack.open_since_ns && ns >= r->ack.open_since_ns &&
		is_too_soon(r, ns - r->ack.open_since_ns, 0))
		round_crossed(a, r);
}

/*
 * The receiver has the packet that its last NAK denied. If it has it before the retransmission can
 * have reached it, then the first copy was late there, not lost. A copy of a round that was on its
 * way when the NAK came arrived, and there was none before: that was lost upstream. The first
 * response to a READ may come sooner than ACKs, whose times say nothing of it; a NAK may, too: then
 * it is doubtful, as it is within a step of the clock.
 */
static void denied_arrived(struct rd_analysis *a, struct flow *r, uint64_t ns)
{
	struct trouble *t = r->trouble;
	uint64_t step = a->totals.step_ns < STEP_NS ? a->totals.step_ns : STEP_NS;
	uint64_t took = ns - t->again_ns;

	t->denied_open = false;
	if (t->denied_only && !t->denied_again) {
		flow_take_back(r, RD_INC_LOST_DOWNSTREAM);
		return;
	}
	if (t->again_ns && (t->denied_fetch || ns < t->again_ns || !is_too_soon(r, took, 0)))
		return;
	if (t->again_ns && (t->denied_by_nak || !is_too_soon(r, took, step)))
		t->unclear.late = true;
	t->denied_late = true;
	flow_take_back(r, RD_INC_LOST_DOWNSTREAM);
	flow_incident(a, r, RD_INC_REORDERED_DOWNSTREAM, 1);
}

/* Whether a READ or atomic, once retransmitted, is acknowledged without its next response. */
static bool fetch_is_missing(const struct flow *r, uint32_t upto)
{
	const struct trouble *t = r->trouble;

	return t && ((r->ack.una - t->fetch) & 0xffffff) < t->fetch_n &&
	       psn_diff(upto, r->ack.una) > 1;
}

bool acknowledge(struct rd_analysis *a, struct flow *r, uint32_t upto, uint64_t ns)
{
	bool known =
		r->ack.acked; /* else responses before this one may have been captured unpaired */
	uint32_t missing = r->ack.una;
	int32_t ahead, before;

	if (!r->req.started)
		return true;
	if (r->ack.gap_open && psn_diff(upto, r->ack.gap_psn) > 0) {
		gap_passed(a, r);
		if (r->ack.gap_open) {
			responded(a, r); /* the receiver is alive, though nothing is accepted */
			return true;
		}
	}
	ahead = psn_diff(upto, r->req.next);
	if (ahead > FAR || ahead < -FAR)
		return false;
	before = psn_diff(upto, r->ack.una);
	if (before <= 0 && r->ack.acked && r->ack.una == r->req.next)
		responded(a, r);
	if (before < 0) /* repeated, or for requests from before the capture */
		return true;
	r->ack.acked = true;
	if (before == 0)
		return true;
	if (r->trouble && r->trouble->denied_open && psn_diff(upto, r->trouble->denied) > 0)
		denied_arrived(a, r, ns);
	if (ahead > 0)
		unseen(a, r, upto, (uint32_t)ahead);
	else if (r->trouble && r->trouble->seen.n_holes)
		gap_unseen(a, r, upto);
	if (psn_diff(upto, r->receiver.expected) >
		0) { /* the receiver got what the capture missed */
		r->receiver.expected = upto;
		r->receiver.refusing = false;
	}
	if (r->round.silent)
		round_was_early(a, r, ns);
	if ((!waiting_done(a, r, upto, ns, known, &missing) || fetch_is_missing(r, upto)) &&
		known) {
		if (psn_diff(missing, r->ack.una) < 0) /* the READ has some of its responses */
			missing = r->ack.una;
		gap_begin(a, r, missing);
		r->ack.waiting_n = 0;
		upto = missing;
	}
	r->ack.una = upto;
	r->req.progress_ns = RD_MAX(r->req.progress_ns, ns);
	responded(a, r);
	if (r->ack.open_since_ns) {
		r->ack.waited_ns = ns - r->ack.open_since_ns;
		stalled(a, r, ns);
		if (r->ack.quiet_ns && ns >= r->ack.quiet_ns + WAITED_NS)
			host_path_quiet(r->path, r->ack.quiet_ns, ns);
		r->ack.open_since_ns = r->ack.quiet_ns = upto == r->req.next ? 0 : ns;
	}
	return true;
}

/*
 * A requester goes back to the first response that it lacks (IBTA volume 1, 9.9.2): it got all
 * before the rest of a READ, though they were not captured.
 */
void acknowledge_rest(struct rd_analysis *a, struct flow *r, uint32_t psn, uint64_t ns)
{
	if (r->ack.acked)
		flow_incident(a, r, RD_INC_RESPONSE_UNSEEN, 1);
	r->ack.gap_open = false;
	r->ack.waiting_n = 0;
	r->trouble->fetch_n = 0;
	acknowledge(a, r, psn, ns);
}
