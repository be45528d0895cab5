/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What became of a packet that only the sender's capture has: responses show it. A NAK that asks
 * for its PSN, and no earlier one, shows that it was lost, unless the receiver was not ready for
 * it. An acknowledgement of its PSN, while the receiver's capture never had it, or only later,
 * shows that it arrived and that capture missed it.
 */
#include "ends.h"
#include <rdmadump/memory.h>
#include <stdlib.h>

#define LOG_MAX	    4096 /* then every second one is dropped */
#define ANSWERS_MAX (UINT64_C(1) << 21)
#define PSN_MASK    0xffffffU
#define PSN_RECENT  (1U << 22) /* an ACK further ahead may be of another round of PSNs */
#define LATE_NS	    ((int64_t)60000000000)

/* --- logs of responses ------------------------------------------------------------------------ */

static void thin_out(struct rd_ends *e, struct answers *a)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n; i += 2)
		a->list[n++] = a->list[i];
	e->answers -= a->n - n;
	a->n = n;
	a->stride *= 2;
}

static void answers_add(struct rd_ends *e, struct answers *a, const struct answer *one)
{
	struct answer *added;

	if (a->stride > 1 && ++a->skip % a->stride)
		return;
	if (a->n == LOG_MAX)
		thin_out(e, a);
	if (e->answers == ANSWERS_MAX)
		return;
	added = rd_append(&a->list, a->n, sizeof(*added));
	e->out_of_memory |= !added;
	if (!added)
		return;
	*added = *one;
	a->n++;
	e->answers++;
	a->stride = a->stride ? a->stride : 1;
}

static void note_request(
	struct rd_ends *e, enum rd_tap end, struct path_qp *to, const struct answer *one)
{
	uint32_t step = (one->psn - to->last_psn[end]) & PSN_MASK;

	if (to->has_psn[end] && (!step || step > PSN_MASK / 2))
		answers_add(e, &to->rounds[end], one);
	to->last_psn[end] = one->psn;
	to->has_psn[end] = true;
}

void evidence_note(struct rd_ends *e, enum rd_tap end, const struct rd_ends_packet *p,
	struct path_qp *to, int64_t t)
{
	struct answer one = {.t = t, .psn = p->psn, .end = (uint8_t)end};

	if (p->request)
		note_request(e, end, to, &one);
	if (p->answer == RD_ENDS_NONE)
		return;
	if (p->answer == RD_ENDS_NAK) {
		answers_add(e, &to->naks, &one);
		one.psn = (p->psn - 1) & PSN_MASK;
	} else if (p->answer == RD_ENDS_RNR) {
		answers_add(e, &to->rnr_naks, &one);
	}
	answers_add(e, &to->acks, &one);
}

/* --- packets without a match ------------------------------------------------------------------ */

void evidence_keep(struct rd_ends *e, const struct record *record)
{
	struct record *kept;

	if (e->n_records == RECORDS_MAX)
		return;
	kept = rd_append(&e->records, e->n_records, sizeof(*kept));
	e->out_of_memory |= !kept;
	if (!kept)
		return;
	*kept = *record;
	e->n_records++;
}

/* The responses to what a QP received; NULL: none, or its peer is unknown. */
static const struct path_qp *responses_to(const struct rd_ends *e, const struct path_qp *w,
	const struct rd_report *const reports[RD_TAPS])
{
	const struct path *p = w->path;
	uint32_t peer = RD_QP_UNKNOWN;

	for (int end = 0; end < RD_TAPS && peer == RD_QP_UNKNOWN; end++) {
		unsigned int side;
		const struct rd_conversation *c = conversation_to(
			reports[end], p->from, p->to, w->qp, path_network(p), &side);

		if (c)
			peer = c->end[side].qp;
	}
	if (peer == RD_QP_UNKNOWN || !p->reverse)
		return NULL;
	return path_qp_known(e, p->reverse, peer);
}

/* Acknowledged, before the receiver's capture had it, if it ever had. */
static bool delivered(const struct record *x, const struct answers *acks)
{
	return RD_ANY(a, acks->list, acks->n,
		llabs(a->t - x->t) <= LATE_NS && ((a->psn - x->psn) & PSN_MASK) < PSN_RECENT &&
			!(a->end != x->end && a->t < x->soonest) &&
			(x->again == INT64_MAX || (a->end != x->end && a->t < x->again)));
}

/* Then it arrived, and the receiver dropped it and asks for it. */
static bool was_not_ready(const struct record *x, const struct answers *rnr_naks)
{
	return rnr_naks->stride > 1 || RD_ANY(a, rnr_naks->list, rnr_naks->n,
					       a->psn == x->psn && llabs(a->t - x->t) < LATE_NS);
}

/* By a NAK that the receiver sent after the packet could have arrived. */
static bool asked_for(const struct record *x, const struct answers *naks)
{
	return RD_ANY(a, naks->list, naks->n,
		a->psn == x->psn && a->end != x->end && a->t > x->soonest &&
			a->t - x->soonest < LATE_NS);
}

/*
 * Whether the sender's next round began with this packet. A round that begins with an earlier one
 * shows that the receiver would have dropped this one even if it arrived.
 */
static bool begins_round(const struct record *x)
{
	const struct answers *rounds = &x->to->rounds[x->end];
	const struct answer *next = RD_FIND(a, rounds->list, rounds->n, a->t > x->t);

	return next && rounds->stride == 1 && next->psn == x->psn;
}

/*
 * Whether the receiver expected this packet when it could arrive: the last that it had acknowledged
 * is the one before. Then it would have taken the packet, wherever a later round began.
 */
static bool is_expected(const struct record *x, const struct answers *acks)
{
	const enum rd_tap receiver = !x->end;
	const struct answer *last = NULL;

	for (uint32_t i = 0; i < acks->n; i++)
		if (acks->list[i].end == receiver && acks->list[i].t <= x->soonest)
			last = &acks->list[i];
	return acks->stride == 1 && last && last->psn == ((x->psn - 1) & PSN_MASK);
}

/*
 * Nothing acknowledged this PSN before: a missing part of a READ is requested again by another PSN,
 * which later responses to the first request have acknowledged.
 */
static bool is_new(const struct record *x, const struct answers *acks)
{
	return acks->stride == 1 &&
	       !RD_ANY(a, acks->list, acks->n,
		       a->end != x->end && a->t < x->soonest && x->soonest - a->t < LATE_NS &&
			       ((a->psn - x->psn) & PSN_MASK) < PSN_RECENT);
}

static enum fate fate_of(const struct record *x, const struct path_qp *responses)
{
	if (!x->request || !responses)
		return FATE_UNKNOWN;
	if (asked_for(x, &responses->naks) && !was_not_ready(x, &responses->rnr_naks) &&
		(begins_round(x) || is_expected(x, &responses->acks)))
		return FATE_LOST;
	if (x->earlier || !(x->data || is_new(x, &responses->acks)))
		return FATE_UNKNOWN;
	return delivered(x, &responses->acks) ? FATE_DELIVERED : FATE_UNKNOWN;
}

void evidence_judge(struct rd_ends *e, const struct rd_report *const reports[RD_TAPS])
{
	const struct path_qp *responses = NULL, *of = NULL;

	for (size_t i = 0; i < e->n_records; i++) {
		const struct record *x = &e->records[i];

		if (!x->to->path->between || x->end != x->to->path->sender)
			continue;
		if (x->to != of)
			responses = responses_to(e, x->to, reports);
		of = x->to;
		incident_add(&x->to->fate[fate_of(x, responses)], 1, x->frame, x->ns);
		x->to->recorded++;
	}
}
