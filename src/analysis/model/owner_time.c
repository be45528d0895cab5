/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which of the processes that had a QP of one number had it while frames were captured. A QP's
 * number is of one process at a time. Where nothing proves which one it was, the owner is unknown.
 */
#include "facts.h"
#include <rdmadump/json.h>
#include <stdlib.h>

/* The frames of a conversation. */
struct range {
	uint64_t first_ns, last_ns;
};

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* --- from facts ------------------------------------------------------------------------------- */

static struct owner_watch watch_of(const json_t *facts)
{
	const json_t *lost = json_object_get(facts, "events_lost");

	return (struct owner_watch){
		.from_ns = rd_json_u64_value(json_object_get(facts, "since_ns")),
		.to_ns = rd_json_u64_value(json_object_get(facts, "time_ns")),
		.error_ns = rd_json_u64_value(json_object_get(facts, "clock_error_ns")),
		.interval_ns = rd_json_u64_value(json_object_get(facts, "interval_ns")),
		.events = lost && !rd_json_u64_value(lost)};
}

/* A long list is in several objects, and files of a recorder have what it collected so far. */
static void extend(struct owner_watch *to, const struct owner_watch *by)
{
	to->to_ns = RD_MAX(to->to_ns, by->to_ns);
	to->error_ns = RD_MAX(to->error_ns, by->error_ns);
	to->interval_ns = RD_MAX(to->interval_ns, by->interval_ns);
	to->events &= by->events;
}

void owner_watched(struct facts *f, struct facts_port *p, const json_t *facts)
{
	struct owner_watch now = watch_of(facts);

	/* Without them, its times cannot be compared with those of frames. */
	if (!now.from_ns || !json_object_get(facts, "clock_error_ns"))
		return;
	for (unsigned int i = 0; i < p->n_watches; i++)
		if (p->watches[i].from_ns == now.from_ns) {
			extend(&p->watches[i], &now);
			return;
		}
	if (p->n_watches < FACTS_SPANS)
		p->watches[p->n_watches++] = now;
	else
		f->left_out++;
}

/* --- at the time of frames -------------------------------------------------------------------- */

/*
 * The collection that ran while all these frames were captured; NULL: none did, or another host's
 * clock may have given them their times.
 */
static const struct owner_watch *watch_at(const struct rd_analysis *a, const struct facts_port *p,
	const char *peer, const struct range *frames)
{
	const struct facts_port *other = facts_port_at(a, peer);

	if (p->n_files < a->in.n_files || (other && strcmp(other->guid, p->guid) != 0))
		return NULL;
	return RD_FIND(w, p->watches, p->n_watches,
		plus(frames->first_ns, w->error_ns) >= w->from_ns &&
			minus(frames->last_ns, w->error_ns) <= w->to_ns);
}

/* The longest time that this owner may have had the QP. Only processes' QPs are reported. */
static struct range longest(const struct qp_owner *own, const struct owner_watch *w)
{
	uint64_t started = rd_json_u64_value(json_object_get(own->who.details, "start_ns"));
	uint64_t unsure = w->events && own->who.pid ? 0 : w->interval_ns;
	uint64_t first = minus(own->first_ns, unsure);

	if (!own->first_ns)
		return (struct range){0, UINT64_MAX};
	if (first < started && started < own->first_ns)
		first = started;
	return (struct range){
		minus(first, w->error_ns), plus(plus(own->last_ns, unsure), w->error_ns)};
}

static bool meet(const struct range *a, const struct range *b)
{
	return a->first_ns <= b->last_ns && b->first_ns <= a->last_ns;
}

/*
 * If others had the number as well, one that was in no list may have had it between them: then only
 * frames from a time at which the owner is known to have had it are taken for its own.
 */
static bool is_proven(const struct qp_owner *own, const struct owner_watch *w,
	const struct range *frames, bool alone)
{
	const struct range all = longest(own, w), sure = {own->first_ns, own->last_ns};

	return frames->first_ns >= all.first_ns && (alone || meet(&sure, frames));
}

static const struct qp_owner *find(const struct bounded *o, const struct qp_owner *first,
	const struct owner_watch *w, const struct range *frames, enum rd_owner_state *state)
{
	const struct qp_owner *found = NULL, *own = first;
	uint32_t n = 0;

	for (; own; own = owner_at(o, first->qp, first->port, ++n)) {
		const struct range all = longest(own, w);

		if (!meet(&all, frames))
			continue;
		*state = RD_OWNER_SEVERAL;
		if (found)
			return NULL;
		found = own;
	}
	*state =
		found && is_proven(found, w, frames, n == 1) ? RD_OWNER_KNOWN : RD_OWNER_OTHER_TIME;
	return *state == RD_OWNER_KNOWN ? found : NULL;
}

struct rd_owner *owner_of(const struct rd_analysis *a, const struct rd_conversation *c,
	unsigned int side, uint64_t first_ns, uint64_t last_ns, enum rd_owner_state *state)
{
	const struct rd_endpoint *e = &c->end[side], *peer = &c->end[!side];
	const struct facts_port *p = e->qp == RD_QP_UNKNOWN ? NULL : facts_port_at(a, e->address);
	const struct bounded *o = a->facts ? &a->facts->owners : NULL;
	const struct range frames = {first_ns, last_ns};
	const struct qp_owner *own;
	const struct owner_watch *w;
	struct rd_owner *copy;

	*state = p && p->owners_listed ? RD_OWNER_NOT_LISTED : RD_OWNER_NO_FACTS;
	own = p ? owner_at(o, e->qp, (uint32_t)(p - a->facts->ports), 0) : NULL;
	if (!own)
		return NULL;
	w = watch_at(a, p, peer->address, &frames);
	*state = RD_OWNER_SEVERAL;
	if (own->more)
		return NULL;
	if (w)
		own = find(o, own, w, &frames, state);
	else if (!owner_at(o, own->qp, own->port, 1))
		*state = RD_OWNER_KNOWN;
	copy = own && *state == RD_OWNER_KNOWN ? malloc(sizeof(*copy)) : NULL;
	if (copy) {
		*copy = own->who;
		json_incref(copy->details);
	}
	return copy;
}
