/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who is slow, as two captures show it: of the time that a requester waits for responses, the part
 * beyond the receiver's capture point is the receiver's, and the rest is the path's. Each capture
 * measures with its own clock, so that their offset does not matter.
 */
#include "ends.h"

#define MOSTLY	     0.5  /* of the time, before it matters */
#define NEARLY_ALL   0.8  /* of the waiting, before one place is named */
#define TOO_MUCH     1.02 /* of the waiting: then one capture lacks packets */
#define SAME_TRAFFIC 0.02 /* share of the requests that only one capture has */

static bool same_traffic(const struct rd_side *x, const struct rd_side *y)
{
	const double a = (double)x->requests, b = (double)y->requests;

	return x->requests && y->requests && (a > b ? a - b : b - a) <= SAME_TRAFFIC * a;
}

/* Beside a fault no bottleneck is named: it would read as another place of the fault. */
static bool is_fault(const struct rd_judgement *v)
{
	return v->rule && v->severity >= RD_SEV_WARNING;
}

/* Sets who the waiting is up to. */
static void judge_waiting(struct rd_slow *slow, double beyond)
{
	if (beyond >= NEARLY_ALL)
		slow->places = RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST;
	else if (beyond <= 1 - NEARLY_ALL)
		slow->places = RD_PLACE_FABRIC;
	else
		slow->places = RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST;
}

/* Keeps what one capture says of the time, with the hosts that its places mean. */
static void keep_slow(
	struct rd_judgement *v, const struct rd_slow *slow, const char *from, const char *to)
{
	v->slow = *slow;
	v->slow.conversation = 0; /* of one capture */
	if (is_fault(v))
		v->slow.certainty = RD_POSSIBLE;
	if (v->rule)
		return;
	snprintf(v->sender, sizeof(v->sender), "%s", from);
	snprintf(v->receiver, sizeof(v->receiver), "%s", to);
}

static bool put_waiting(struct rd_judgement *v, const struct rd_slow *slow, const char *from,
	const char *to, double beyond)
{
	keep_slow(v, slow, from, to);
	judge_waiting(&v->slow, beyond);
	if (is_fault(v))
		return asprintf(&v->row[RD_ROW_TIME],
			       "Requesters spent %.0f %% of their time waiting for a response",
			       100 * slow->share) >= 0;
	return asprintf(&v->row[RD_ROW_TIME],
		       "Requesters spent %.0f %% of their time waiting for a response. Of the "
		       "waiting of %s, %.0f %% passed beyond the capture point at %s, the rest "
		       "between the two capture points",
		       100 * slow->share, from, 100 * beyond, to) >= 0;
}

/* The time of one capture if the other one has the same requests; false if out of memory. */
static bool compare_waiting(struct judging *j, enum rd_tap tap, bool *done)
{
	const struct rd_report *r = j->reports[tap];
	const struct rd_slow *slow = &r->verdict.slow;
	const struct rd_conversation *c = conversation_of(r, slow->conversation);
	const struct rd_endpoint *from, *to;
	const struct rd_path *p;
	const struct rd_side *x, *y;
	double beyond;

	if (!c || !slow->all_ns || slow->what != RD_TIME_WAITING || slow->share < MOSTLY)
		return true;
	from = &c->end[slow->side];
	to = &c->end[!slow->side];
	p = ends_path(j->r, from->address, to->address, c->network);
	if (!p || !p->sender_known || p->sender != tap)
		return true;
	x = &c->side[slow->side];
	y = side_in(j->reports[!tap], p, to->qp);
	if (!y || !x->times || !y->times || !same_traffic(x, y) || !x->times->ns[RD_TIME_WAITING])
		return true;
	beyond = (double)y->times->ns[RD_TIME_WAITING] / (double)x->times->ns[RD_TIME_WAITING];
	if (beyond > TOO_MUCH)
		return true;
	*done = true;
	return put_waiting(
		&j->r->verdict, slow, from->address, to->address, beyond < 1 ? beyond : 1);
}

/* What a sender's capture says of the time, where only it can. */
static bool copy_time(struct judging *j, enum rd_tap tap)
{
	const struct rd_judgement *alone = &j->reports[tap]->verdict;
	const struct rd_conversation *c =
		conversation_of(j->reports[tap], alone->slow.conversation);
	const char *from, *to;
	const struct rd_path *p;

	if (!c)
		return true;
	from = c->end[alone->slow.side].address;
	to = c->end[!alone->slow.side].address;
	p = ends_path(j->r, from, to, c->network);
	if (!p || p->sender != tap || !p->sender_known || !alone->row[RD_ROW_TIME] ||
		!*alone->row[RD_ROW_TIME] || alone->slow.what == RD_TIME_WAITING)
		return true;
	keep_slow(&j->r->verdict, &alone->slow, from, to);
	/* What that capture takes for a bottleneck, since it does not see the fault. */
	if (is_fault(&j->r->verdict) && !is_fault(alone))
		return true;
	j->r->verdict.row[RD_ROW_TIME] = strdup(alone->row[RD_ROW_TIME]);
	return j->r->verdict.row[RD_ROW_TIME];
}

bool ends_times(struct judging *j)
{
	bool done = false;

	for (int tap = 0; tap < RD_TAPS && !done; tap++)
		if (!compare_waiting(j, (enum rd_tap)tap, &done))
			return false;
	for (int tap = 0; tap < RD_TAPS && !j->r->verdict.row[RD_ROW_TIME]; tap++)
		if (!copy_time(j, (enum rd_tap)tap))
			return false;
	return true;
}
