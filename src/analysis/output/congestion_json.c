/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Priorities, congestion control and pauses of a report as JSON. */
#include "output.h"
#include <rdmadump/json.h>

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *number_or_null(int value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static json_t *known_or_null(bool known, uint64_t value)
{
	return known ? rd_json_u64(value) : json_null();
}

/* Fields of the ECN bits that packets had: RFC 3168. */
static json_t *ecn_json(unsigned int mask)
{
	static const char *const names[] = {"not-ECT", "ECT(1)", "ECT(0)", "CE"};
	json_t *list = json_array();

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (mask >> i & 1)
			json_array_append_new(list, json_string(names[i]));
	return list;
}

/* Null if all packets have the same DSCP and no tag, which is the usual case. */
static json_t *priority_json(const struct rd_priority *p)
{
	json_t *o;

	if (!p->others && p->cnp_dscp < 0 && p->pcp < 0 && p->class < 0)
		return json_null();
	o = json_object();
	set(o, "other_dscp", number_or_null(p->other_dscp));
	set(o, "others", rd_json_u64(p->others));
	set(o, "cnp_dscp", number_or_null(p->cnp_dscp));
	set(o, "pcp", number_or_null(p->pcp));
	set(o, "pcp_varies", json_boolean(p->pcp_varies));
	set(o, "untagged", json_boolean(p->untagged));
	set(o, "class", number_or_null(p->class));
	set(o, "pfc", p->class < 0 ? json_null() : json_boolean(p->pfc >> p->class & 1));
	return o;
}

static json_t *congestion_json(const struct rd_congestion *c)
{
	json_t *o;

	if (!c)
		return json_null();
	o = json_object();
	set(o, "mark_to_cnp", latency_json(&c->reaction));
	set(o, "cnp_interval", latency_json(&c->interval));
	set(o, "episodes", rd_json_u64(c->episodes));
	set(o, "rate_before", known_or_null(c->episodes, c->rate_before));
	set(o, "rate_after", known_or_null(c->episodes, c->rate_after));
	set(o, "recovery", latency_json(&c->recovery));
	return o;
}

/* Numbers of the priorities in a mask; null: all traffic. */
static json_t *classes_json(unsigned int mask)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < RD_PAUSE_CLASSES; i++)
		if (mask >> i & 1)
			json_array_append_new(
				list, i == RD_PRIORITIES ? json_null() : json_integer((int)i));
	return list;
}

static json_t *held_json(const struct rd_held *h)
{
	json_t *o;

	if (!h)
		return json_null();
	o = json_object();
	set(o, "gaps", rd_json_u64(h->gaps.count));
	set(o, "gaps_ns", rd_json_u64(h->ns));
	set(o, "longest_ns", rd_json_u64(h->longest_ns));
	set(o, "longest_frame", rd_json_u64(h->longest_frame));
	set(o, "priorities", classes_json(h->classes));
	set(o, "frames_in_pauses", rd_json_u64(h->through));
	return o;
}

void side_congestion_json(json_t *side, const struct rd_side *s)
{
	set(side, "ecn", ecn_json(s->priority.ecn));
	set(side, "priority", priority_json(&s->priority));
	set(side, "congestion", congestion_json(s->congestion));
	set(side, "held", held_json(s->held));
}

static json_t *class_json(
	const struct rd_report *r, const struct rd_pause_sender *s, unsigned int class)
{
	const struct rd_pause_class *c = &s->classes[class];
	json_t *o = json_object();

	set(o, "priority", class == RD_PRIORITIES ? json_null() : json_integer((int)class));
	set(o, "pauses", rd_json_u64(c->pauses.count));
	set(o, "resumes", rd_json_u64(c->resumes.count));
	set(o, "first_pause_frame", rd_json_u64_or_null(c->pauses.first_frame));
	set(o, "last_pause_frame", rd_json_u64_or_null(c->pauses.last_frame));
	set(o, "quanta", rd_json_u64(c->quanta));
	set(o, "paused_ns", known_or_null(s->speed, c->paused_ns));
	set(o, "longest_ns", known_or_null(s->speed, c->longest_ns));
	set(o, "share", s->speed ? json_real(rd_pause_share(r, c)) : json_null());
	return o;
}

json_t *pauses_json(const struct rd_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_pause_senders; i++) {
		const struct rd_pause_sender *s = &r->pause_senders[i];
		json_t *o = json_object(), *classes = json_array();
		char mac[RD_MAC_LEN];

		for (unsigned int k = 0; k < RD_PAUSE_CLASSES; k++)
			if (s->classes[k].pauses.count || s->classes[k].resumes.count)
				json_array_append_new(classes, class_json(r, s, k));
		set(o, "mac", s->has_mac ? json_string(rd_mac_text(mac, s->mac)) : json_null());
		set(o, "address", *s->address ? json_string(s->address) : json_null());
		set(o, "frames", rd_json_u64(s->frames));
		set(o, "received", rd_json_u64(s->in));
		set(o, "sent", rd_json_u64(s->out));
		set(o, "speed", rd_json_u64_or_null(s->speed));
		set(o, "classes", classes);
		json_array_append_new(list, o);
	}
	return list;
}
