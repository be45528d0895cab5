/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A report as JSON, as docs/schema/analyze.json describes it. */
#include "names.h"
#include "../report/report.h"
#include <inttypes.h>
#include <rdmadump/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Times are nanoseconds since the first frame, so that they are exact where numbers are doubles;
 * `start` says when that was.
 */
struct times {
	uint64_t start;
};

static json_t *number(uint64_t n)
{
	return json_integer(n <= INT64_MAX ? (json_int_t)n : INT64_MAX);
}

static json_t *number_or_null(uint64_t n)
{
	return n ? number(n) : json_null();
}

static json_t *when(const struct times *t, uint64_t ns)
{
	return json_integer((json_int_t)(ns - t->start));
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *start_json(uint64_t ns)
{
	char buf[64];
	time_t s = (time_t)(ns / 1000000000U);
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, sizeof(buf) - n, ".%09" PRIu64 "Z", ns % 1000000000U);
	return json_string(buf);
}

static json_t *capture_json(const struct rd_report *r, const struct times *t)
{
	json_t *files = json_array(), *o = json_object();

	for (size_t i = 0; i < r->n_files; i++) {
		const struct rd_report_file *f = &r->files[i];
		json_t *file = json_object();

		set(file, "name", rd_json_string(f->name));
		set(file, "format", rd_json_string(f->format));
		set(file, "first_frame", number(f->first_frame));
		set(file, "frames", number(f->frames));
		set(file, "first_ns", when(t, f->first_ns));
		set(file, "last_ns", when(t, f->last_ns));
		set(file, "dropped", f->dropped_known ? number(f->dropped) : json_null());
		set(file, "damage", rd_json_string(f->damage));
		json_array_append_new(files, file);
	}
	set(o, "start", start_json(t->start));
	set(o, "duration_ns", number(r->totals.last_ns - t->start));
	set(o, "application", rd_json_string(r->application));
	set(o, "hardware", rd_json_string(r->hardware));
	set(o, "os", rd_json_string(r->os));
	set(o, "files", files);
	return o;
}

static json_t *totals_json(const struct rd_totals *s)
{
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = {
		{"frames", s->frames},
		{"wire_bytes", s->wire_bytes},
		{"rdma_frames", s->rdma_frames},
		{"cnp_frames", s->cnp_frames},
		{"mad_frames", s->mad_frames},
		{"other_frames", s->other_frames},
		{"payload_bytes", s->payload_bytes},
		{"goodput_bytes", s->goodput_bytes},
		{"icrc_good", s->icrc_good},
		{"icrc_bad", s->icrc_bad},
		{"icrc_unchecked", s->icrc_unchecked},
		{"cut", s->cut},
		{"malformed", s->malformed},
		{"fragments", s->fragments},
		{"truncated", s->truncated},
		{"backwards", s->backwards},
		{"qps", s->qps},
		{"qps_left_out", s->qps_left_out},
		{"frames_left_out", s->frames_left_out},
		{"silences", s->silences},
		{"longest_silence_ns", s->longest_silence_ns},
		{"silence_frame", s->silence_frame},
	};
	json_t *o = json_object();

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		set(o, rows[i].key, number(rows[i].value));
	set(o, "icrc_trusted", json_boolean(s->icrc_trusted));
	return o;
}

static json_t *finding_json(const struct rd_finding *f, const struct times *t)
{
	json_t *o = json_object(), *frames = json_array();

	for (unsigned int i = 0; i < f->n_frames; i++)
		json_array_append_new(frames, number(f->frames[i]));
	set(o, "rule", rd_json_string(f->rule));
	set(o, "severity", rd_json_string(severity_name(f->severity)));
	set(o, "sure", rd_json_string(sureness_name(f->sure)));
	set(o, "where", rd_json_string(f->where));
	set(o, "title", rd_json_string(f->title));
	set(o, "detail", rd_json_string(f->detail));
	set(o, "meaning", rd_json_string(f->meaning));
	set(o, "next", rd_json_string(f->next));
	set(o, "filter", rd_json_string(f->filter));
	set(o, "conversation", number_or_null(f->conversation));
	set(o, "side", f->conversation ? rd_json_string(f->side ? "b" : "a") : json_null());
	set(o, "count", number(f->count));
	set(o, "first_ns", f->first_ns ? when(t, f->first_ns) : json_null());
	set(o, "last_ns", f->last_ns ? when(t, f->last_ns) : json_null());
	set(o, "frames", frames);
	return o;
}

static json_t *event_json(const struct rd_event *e, const struct times *t)
{
	json_t *o = json_object();

	set(o, "count", number(e->count));
	set(o, "first_frame", number(e->first_frame));
	set(o, "last_frame", number(e->last_frame));
	set(o, "first_ns", when(t, e->first_ns));
	set(o, "last_ns", when(t, e->last_ns));
	return o;
}

json_t *latency_json(const struct rd_latency *l)
{
	json_t *o;

	if (!l->n)
		return json_null();
	o = json_object();
	set(o, "n", number(l->n));
	set(o, "min_ns", number(l->min));
	set(o, "p50_ns", number(l->p50));
	set(o, "p90_ns", number(l->p90));
	set(o, "p99_ns", number(l->p99));
	set(o, "max_ns", number(l->max));
	return o;
}

static json_t *verbs_json(const struct rd_side *s)
{
	json_t *o = json_object();

	for (unsigned int i = 0; i < RD_VERB_COUNT; i++) {
		const struct rd_verb_use *v = rd_side_verb(s, i);
		json_t *verb;

		if (!v->messages && !v->packets)
			continue;
		verb = json_object();
		set(verb, "messages", number(v->messages));
		set(verb, "bytes", number(v->bytes));
		set(verb, "packets", number(v->packets));
		set(verb, "smallest", v->messages ? number(v->smallest) : json_null());
		set(verb, "largest", v->messages ? number(v->largest) : json_null());
		set(o, rd_verb_name((enum rd_verb)i), verb);
	}
	return o;
}

static json_t *events_json(const struct rd_side *s, const struct times *t)
{
	json_t *o = json_object();

	for (unsigned int i = 0; i < RD_EV_COUNT; i++)
		if (s->has_events >> i & 1)
			set(o, rd_event_names[i].key, event_json(rd_side_event(s, i), t));
	return o;
}

static json_t *side_json(const struct rd_side *s, const struct times *t)
{
	json_t *o = json_object();
	bool asked = s->requests > 0;

	set(o, "seen", json_boolean(s->seen));
	set(o, "frames", number(s->frames));
	set(o, "wire_bytes", number(s->wire_bytes));
	set(o, "payload_bytes", number(s->payload_bytes));
	set(o, "goodput_bytes", number(s->goodput_bytes));
	set(o, "first_ns", s->seen ? when(t, s->first_ns) : json_null());
	set(o, "last_ns", s->seen ? when(t, s->last_ns) : json_null());
	set(o, "first_frame", number_or_null(s->first_frame));
	set(o, "last_frame", number_or_null(s->last_frame));
	set(o, "requests", number(s->requests));
	set(o, "acks", number(s->acks));
	set(o, "read_responses", number(s->read_responses));
	set(o, "verbs", verbs_json(s));
	set(o, "events", events_json(s, t));
	set(o, "latency",
		json_pack("{s:o, s:o, s:o, s:o}", "ack",
			latency_json(rd_side_latency(s, RD_LATENCY_ACK)), "read",
			latency_json(rd_side_latency(s, RD_LATENCY_READ)), "atomic",
			latency_json(rd_side_latency(s, RD_LATENCY_ATOMIC)), "message",
			latency_json(rd_side_latency(s, RD_LATENCY_MESSAGE))));
	set(o, "psn_first", asked ? number(s->psn_first) : json_null());
	set(o, "psn_last", asked ? number(s->psn_last) : json_null());
	set(o, "mtu", number_or_null(s->mtu));
	set(o, "rnr_timer_us", number_or_null(s->rnr_timer_us));
	set(o, "timeout_ns", number_or_null(s->timeout_ns));
	set(o, "longest_stall_ns", number(s->longest_stall_ns));
	set(o, "stall_frame", number_or_null(s->stall_frame));
	set(o, "credits", s->credits < 0 ? json_null() : json_integer(s->credits));
	set(o, "pkey", number(s->pkey));
	set(o, "dscp", number(s->dscp));
	set(o, "qkey", number_or_null(s->qkey));
	set(o, "ending", rd_json_string(ending_name(s->ending)));
	set(o, "end_frame", number_or_null(s->end_frame));
	set(o, "end_ns", s->end_ns ? when(t, s->end_ns) : json_null());
	set(o, "attempts", number(s->attempts));
	return o;
}

/* One array per value: what a plot wants. */
static json_t *series_json(const struct rd_series *s, const struct times *t)
{
	static const char *const keys[] = {"wire_bytes", "goodput_bytes", "frames", "resent", "cnp",
		"ecn_ce", "nak", "latency_mean_ns", "latency_max_ns"};
	enum { KEYS = sizeof(keys) / sizeof(*keys) };
	json_t *o, *columns[KEYS];

	if (!s->n)
		return json_null();
	o = json_object();
	set(o, "start_ns", when(t, s->start_ns));
	set(o, "width_ns", number(s->width_ns));
	set(o, "points", number(s->n));
	for (unsigned int k = 0; k < KEYS; k++) {
		columns[k] = json_array();
		set(o, keys[k], columns[k]);
	}
	for (unsigned int i = 0; i < s->n; i++) {
		const struct rd_point *p = &s->points[i];
		const uint64_t row[KEYS] = {p->wire_bytes, p->goodput_bytes, p->frames, p->resent,
			p->cnp, p->ce, p->nak, p->latency_n ? p->latency_sum_ns / p->latency_n : 0,
			p->latency_max_ns};

		for (unsigned int k = 0; k < KEYS; k++)
			json_array_append_new(
				columns[k], k >= 7 && !p->latency_n ? json_null() : number(row[k]));
	}
	return o;
}

static json_t *endpoint_json(const struct rd_endpoint *e)
{
	return json_pack("{s:s, s:o}", "address", e->address, "qp",
		e->qp == RD_QP_UNKNOWN ? json_null() : number(e->qp));
}

static json_t *conversation_json(const struct rd_conversation *c, const struct times *t)
{
	json_t *o = json_object();

	set(o, "id", number(c->id));
	set(o, "transport", rd_json_string(rd_transport_name(c->transport)));
	set(o, "kind", rd_json_string(kind_name(c->kind)));
	set(o, "pairing", rd_json_string(pairing_name(c->pairing)));
	set(o, "multicast", json_boolean(c->multicast));
	set(o, "cm", json_boolean(c->cm));
	set(o, "a", endpoint_json(&c->a));
	set(o, "b", endpoint_json(&c->b));
	set(o, "sides",
		json_pack("{s:o, s:o}", "a", side_json(&c->side[0], t), "b",
			side_json(&c->side[1], t)));
	set(o, "series", series_json(&c->series, t));
	return o;
}

static json_t *check_json(const struct rd_check *c)
{
	json_t *o = json_object();

	set(o, "device", rd_json_string(c->device));
	set(o, "counter", rd_json_string(c->counter));
	set(o, "meaning", rd_json_string(c->meaning));
	set(o, "packets", number(c->packets));
	set(o, "device_count", c->known ? number(c->device_count) : json_null());
	set(o, "agrees", json_boolean(c->agrees));
	set(o, "why", rd_json_string(c->why));
	return o;
}

json_t *findings_json(const struct rd_finding *f, size_t n, uint64_t start_ns)
{
	const struct times t = {start_ns};
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, finding_json(&f[i], &t));
	return list;
}

json_t *report_frame_json(const struct rd_report *r)
{
	const struct times t = {r->totals.first_ns};
	json_t *o = json_object(), *checks = json_array();

	for (size_t i = 0; i < r->n_checks; i++)
		json_array_append_new(checks, check_json(&r->checks[i]));
	set(o, "version", json_integer(RD_REPORT_VERSION));
	set(o, "capture", capture_json(r, &t));
	set(o, "totals", totals_json(&r->totals));
	set(o, "findings", json_array());
	set(o, "conversations", json_array());
	set(o, "conversations_in_all", number(r->n_conversations));
	set(o, "counters", checks);
	set(o, "series", series_json(&r->series, &t));
	return o;
}

static size_t count_findings(const struct rd_report *r)
{
	return r->n_findings;
}

static json_t *make_finding(const struct rd_report *r, size_t i)
{
	const struct times t = {r->totals.first_ns};

	return finding_json(&r->findings[i], &t);
}

static size_t count_conversations(const struct rd_report *r)
{
	return r->n_shown;
}

static json_t *make_conversation(const struct rd_report *r, size_t i)
{
	const struct times t = {r->totals.first_ns};

	return conversation_json(&r->conversations[i], &t);
}

const struct list report_lists[] = {
	{"findings", count_findings, make_finding},
	{"conversations", count_conversations, make_conversation},
	{0},
};

json_t *rd_report_json(const struct rd_report *r)
{
	json_t *o = report_frame_json(r);

	for (const struct list *list = report_lists; list->key; list++)
		for (size_t i = 0; i < list->count(r); i++)
			json_array_append_new(json_object_get(o, list->key), list->make(r, i));
	return o;
}
