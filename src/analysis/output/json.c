/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A report as JSON, as docs/schema/analyze.json describes it. */
#include "names.h"
#include "output.h"
#include <inttypes.h>
#include <rdmadump/document.h>
#include <rdmadump/json.h>
#include <rdmadump/notation.h>

/*
 * Times are nanoseconds since the first frame (`start`), so that they are exact for readers whose
 * numbers are doubles.
 */
struct times {
	uint64_t start;
};

static json_t *when(const struct times *t, uint64_t ns)
{
	return json_integer((json_int_t)(ns - t->start));
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *capture_json(const struct rd_report *r, const struct times *t)
{
	json_t *files = json_array(), *o = json_object();
	char losses[RD_DROPS_TEXT];

	for (size_t i = 0; i < r->n_files; i++) {
		const struct rd_report_file *f = &r->files[i];
		json_t *file = json_object();

		set(file, "name", rd_json_string(f->name));
		set(file, "format", rd_json_string(f->format));
		set(file, "first_frame", rd_json_u64(f->first_frame));
		set(file, "frames", rd_json_u64(f->frames));
		set(file, "first_ns", when(t, f->first_ns));
		set(file, "last_ns", when(t, f->last_ns));
		set(file, "dropped", f->dropped_known ? rd_json_u64(f->dropped) : json_null());
		set(file, "damage", rd_json_string(f->damage));
		json_array_append_new(files, file);
	}
	set(o, "losses", rd_json_string(losses_text(r, losses)));
	set(o, "application", rd_json_string(r->application));
	set(o, "hardware", rd_json_string(r->hardware));
	set(o, "os", rd_json_string(r->os));
	set(o, "files", files);
	return o;
}

static json_t *totals_json(const struct rd_report *r)
{
	const struct rd_totals *s = &r->totals;
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
		{"goodput_bps", rd_goodput(s->goodput_bytes, r->conversations, r->n_conversations)},
		{"icrc_good", s->icrc_good},
		{"icrc_bad", s->icrc_bad},
		{"icrc_unchecked", s->icrc_unchecked},
		{"cut", s->cut},
		{"malformed", s->malformed},
		{"fragments", s->fragments},
		{"unread", s->unread},
		{"tunnelled", s->tunnelled},
		{"tunnels_left", s->tunnels_left},
		{"copies_left", s->copies_left},
		{"moved", s->moved},
		{"foreign", s->foreign},
		{"truncated", s->truncated},
		{"backwards", s->backwards},
		{"qps", s->qps},
		{"frames_left_out", s->frames_left_out},
		{"silences", s->silences},
		{"longest_silence_ns", s->longest_silence_ns},
		{"silence_frame", s->silence_frame},
	};
	json_t *o = json_object();

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		set(o, rows[i].key, rd_json_u64(rows[i].value));
	set(o, "qps_left_out", s->frames_left_out ? json_null() : json_integer(0));
	set(o, "qps_left_out_unknown",
		s->frames_left_out ? json_string("not_remembered") : json_null());
	set(o, "icrc_trusted", json_boolean(s->icrc_trusted));
	return o;
}

static json_t *incident_json(const struct rd_incident *e, const struct times *t)
{
	json_t *o = json_object();

	set(o, "count", rd_json_u64(e->count));
	set(o, "first_frame", rd_json_u64(e->first_frame));
	set(o, "last_frame", rd_json_u64(e->last_frame));
	set(o, "first_ns", when(t, e->first_ns));
	set(o, "last_ns", when(t, e->last_ns));
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
		set(verb, "messages", rd_json_u64(v->messages));
		set(verb, "bytes", rd_json_u64(v->bytes));
		set(verb, "packets", rd_json_u64(v->packets));
		set(verb, "smallest",
			v->smallest <= v->largest ? rd_json_u64(v->smallest) : json_null());
		set(verb, "largest",
			v->smallest <= v->largest ? rd_json_u64(v->largest) : json_null());
		set(o, rd_verb_name((enum rd_verb)i), verb);
	}
	return o;
}

static json_t *incidents_json(const struct rd_side *s, const struct times *t)
{
	json_t *o = json_object();

	for (unsigned int i = 0; i < RD_INC_COUNT; i++)
		if (s->has_incidents >> i & 1)
			set(o, rd_incident_names[i].key, incident_json(rd_side_incident(s, i), t));
	return o;
}

static json_t *refusal_json(const struct rd_refusal *q)
{
	char address[20];
	json_t *o;

	if (!q)
		return json_null();
	snprintf(address, sizeof(address), "0x%016" PRIx64, q->address);
	o = json_object();
	set(o, "verb", rd_json_string(rd_verb_name(q->verb)));
	set(o, "psn", rd_json_u64(q->psn));
	set(o, "frame", rd_json_u64(q->frame));
	set(o, "address", q->has_address ? json_string(address) : json_null());
	set(o, "rkey", q->has_address ? rd_json_u64(q->rkey) : json_null());
	set(o, "length", q->has_address ? rd_json_u64(q->length) : json_null());
	return o;
}

static json_t *side_json(const struct rd_conversation *c, unsigned int side, const struct times *t)
{
	const struct rd_side *s = &c->side[side];
	json_t *o = json_object();
	bool asked = s->requests > 0;

	set(o, "seen", json_boolean(s->seen));
	set(o, "frames", rd_json_u64(s->frames));
	set(o, "wire_bytes", rd_json_u64(s->wire_bytes));
	set(o, "payload_bytes", rd_json_u64(s->payload_bytes));
	set(o, "goodput_bytes", rd_json_u64(s->goodput_bytes));
	set(o, "goodput_bps", rd_json_u64_or_null(rd_goodput(s->goodput_bytes, c, 1)));
	set(o, "first_ns", s->seen ? when(t, s->first_ns) : json_null());
	set(o, "last_ns", s->seen ? when(t, s->last_ns) : json_null());
	set(o, "first_frame", rd_json_u64_or_null(s->first_frame));
	set(o, "last_frame", rd_json_u64_or_null(s->last_frame));
	set(o, "requests", rd_json_u64(s->requests));
	set(o, "acks", rd_json_u64(s->acks));
	set(o, "read_responses", rd_json_u64(s->read_responses));
	set(o, "verbs", verbs_json(s));
	set(o, "events", incidents_json(s, t));
	set(o, "latency",
		json_pack("{s:o, s:o, s:o, s:o, s:o}", "ack",
			latency_json(rd_side_latency(s, RD_LATENCY_ACK)), "read",
			latency_json(rd_side_latency(s, RD_LATENCY_READ)), "atomic",
			latency_json(rd_side_latency(s, RD_LATENCY_ATOMIC)), "message",
			latency_json(rd_side_latency(s, RD_LATENCY_MESSAGE)), "timeout",
			latency_json(rd_side_latency(s, RD_LATENCY_TIMEOUT))));
	set(o, "times", times_json(s->times));
	set(o, "psn_first", asked ? rd_json_u64(s->psn_first) : json_null());
	set(o, "psn_last", asked ? rd_json_u64(s->psn_last) : json_null());
	set(o, "mtu", rd_json_u64_or_null(s->mtu));
	set(o, "rnr_timer_us", rd_json_u64_or_null(s->rnr_timer_us));
	set(o, "timeout_ns", rd_json_u64_or_null(rd_side_latency(s, RD_LATENCY_TIMEOUT)->p50));
	set(o, "ack_timeout_ns",
		s->ack_timeout ? rd_json_u64(rd_cm_timeout_ns(s->ack_timeout)) : json_null());
	set(o, "reorder_depth", rd_json_u64(s->reorder_depth));
	set(o, "ports_differ", json_boolean(s->ports_differ));
	set(o, "longest_stall_ns", rd_json_u64(s->longest_stall_ns));
	set(o, "stall_frame", rd_json_u64_or_null(s->stall_frame));
	set(o, "credits", s->credits < 0 ? json_null() : json_integer(s->credits));
	set(o, "pkey", rd_json_u64(s->pkey));
	set(o, "lid", s->has_lrh ? rd_json_u64(s->lid) : json_null());
	set(o, "sl", s->has_lrh ? rd_json_u64(s->sl) : json_null());
	set(o, "dscp", rd_json_u64(s->priority.dscp < 0 ? 0 : (uint64_t)s->priority.dscp));
	set(o, "qkey", rd_json_u64_or_null(s->qkey));
	set(o, "ending", rd_json_string(ending_name(s->ending)));
	set(o, "end_frame", rd_json_u64_or_null(s->end_frame));
	set(o, "end_ns", s->end_ns ? when(t, s->end_ns) : json_null());
	set(o, "attempts", rd_json_u64(s->attempts));
	set(o, "refused", refusal_json(s->refusal));
	side_congestion_json(o, s);
	if (s->psn_plot)
		set(o, "psn_plot", psn_plot_json(s->psn_plot, t->start));
	return o;
}

/* One array for each value, as plots need it. */
static json_t *series_json(const struct rd_series *s, const struct times *t)
{
	static const char *const keys[] = {"wire_bytes", "goodput_bytes", "frames", "retransmitted",
		"cnp", "ecn_ce", "nak", "latency_mean_ns", "latency_max_ns"};
	enum { KEYS = sizeof(keys) / sizeof(*keys) };
	json_t *o, *columns[KEYS];

	if (!s->n)
		return json_null();
	o = json_object();
	set(o, "start_ns", when(t, s->start_ns));
	set(o, "width_ns", rd_json_u64(s->width_ns));
	set(o, "points", rd_json_u64(s->n));
	for (unsigned int k = 0; k < KEYS; k++) {
		columns[k] = json_array();
		set(o, keys[k], columns[k]);
	}
	for (unsigned int i = 0; i < s->n; i++) {
		const struct rd_point *p = &s->points[i];
		const uint64_t row[KEYS] = {p->wire_bytes, p->goodput_bytes, p->frames,
			p->retransmitted, p->cnp, p->ce, p->nak,
			p->latency_n ? p->latency_sum_ns / p->latency_n : 0, p->latency_max_ns};

		for (unsigned int k = 0; k < KEYS; k++)
			json_array_append_new(columns[k],
				k >= 7 && !p->latency_n ? json_null() : rd_json_u64(row[k]));
	}
	return o;
}

static json_t *detail_json(const struct rd_owner *o, const char *key)
{
	json_t *value = json_object_get(o->details, key);

	return value ? json_incref(value) : json_null();
}

static json_t *owner_json(const struct rd_owner *o)
{
	json_t *job;

	if (!o)
		return json_null();
	job = json_object_get(o->details, "job");
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pid",
		rd_json_u64(o->pid), "comm", rd_json_string(o->comm), "service_port",
		detail_json(o, "service_port"), "rank",
		o->rank == UINT32_MAX ? json_null() : rd_json_u64(o->rank), "start_ns",
		detail_json(o, "start_ns"), "cgroup", detail_json(o, "cgroup"), "container",
		detail_json(o, "container"), "pod", detail_json(o, "pod"), "job",
		job ? json_incref(job) : json_object());
}

static json_t *endpoint_json(const struct rd_conversation *c, unsigned int side)
{
	static const char *const unknown[] = {[RD_OWNER_NO_FACTS] = "no_facts",
		[RD_OWNER_NOT_LISTED] = "not_listed",
		[RD_OWNER_SEVERAL] = "several",
		[RD_OWNER_OTHER_TIME] = "other_time"};
	const struct rd_endpoint *e = side ? &c->b : &c->a;

	return json_pack("{s:s, s:o, s:o, s:o}", "address", e->address, "qp",
		e->qp == RD_QP_UNKNOWN ? json_null() : rd_json_u64(e->qp), "owner",
		owner_json(c->owner[side]), "owner_unknown",
		rd_json_string(unknown[c->owner_state[side]]));
}

static json_t *connection_json(const struct rd_connection *c)
{
	char service[20];

	if (!c)
		return json_null();
	snprintf(service, sizeof(service), "0x%016" PRIx64, c->service_id);
	return json_pack("{s:s, s:o, s:i, s:i, s:i, s:i}", "service_id", service, "frame",
		rd_json_u64(c->frame), "retry_count", (int)c->retry_count, "rnr_retry",
		(int)c->rnr_retry, "reply_rnr_retry", (int)c->reply_rnr_retry, "ack_timeout",
		(int)c->ack_timeout);
}

static json_t *conversation_json(const struct rd_conversation *c, const struct times *t)
{
	json_t *o = json_object();

	set(o, "id", rd_json_u64(c->id));
	set(o, "transport", rd_json_string(rd_transport_name(c->transport)));
	set(o, "kind", rd_json_string(kind_name(c->kind)));
	set(o, "pairing", rd_json_string(pairing_name(c->pairing)));
	set(o, "multicast", json_boolean(c->multicast));
	set(o, "ipoib", json_boolean(c->ipoib));
	set(o, "network", c->network ? rd_json_u64(c->network) : json_null());
	set(o, "cm", json_boolean(c->cm));
	set(o, "connection", connection_json(c->connection));
	set(o, "application", application_json(c->application));
	set(o, "a", endpoint_json(c, 0));
	set(o, "b", endpoint_json(c, 1));
	set(o, "sides", json_pack("{s:o, s:o}", "a", side_json(c, 0, t), "b", side_json(c, 1, t)));
	set(o, "series", series_json(&c->series, t));
	return o;
}

static json_t *comparison_json(const struct rd_comparison *c)
{
	json_t *o = json_object();

	set(o, "device", rd_json_string(c->device));
	set(o, "counter", rd_json_string(c->counter));
	set(o, "meaning", rd_json_string(c->meaning));
	set(o, "packets", rd_json_u64(c->packets));
	set(o, "device_count", c->known ? rd_json_u64(c->device_count) : json_null());
	set(o, "agrees", json_boolean(c->agrees));
	set(o, "why", rd_json_string(c->why));
	return o;
}

json_t *report_frame_json(const struct rd_report *r)
{
	const struct times t = {r->totals.first_ns};
	json_t *o = rd_document(RD_REPORT_VERSION, t.start - r->totals.moved_ns, json_object());
	json_t *comparisons = json_array();

	for (size_t i = 0; i < r->n_comparisons; i++)
		json_array_append_new(comparisons, comparison_json(&r->comparisons[i]));
	set(o, "duration_s", rd_json_seconds((int64_t)(r->totals.last_ns - t.start)));
	set(o, "verdict", verdict_json(r));
	set(o, "capture", capture_json(r, &t));
	set(o, "totals", totals_json(r));
	set(o, "findings", json_array());
	set(o, "findings_left_out",
		rd_json_u64(rd_findings_left_out(&r->findings, NULL, RD_SEV_NONE)));
	set(o, "groups", groups_json(r));
	set(o, "hosts", hosts_json(r));
	set(o, "conversations", json_array());
	set(o, "conversations_in_all", rd_json_u64(r->n_conversations));
	set(o, "counters", comparisons);
	set(o, "applications", applications_json(r));
	set(o, "mads", mads_json(r));
	set(o, "mads_left_out", rd_json_u64(r->mads_left_out));
	set(o, "series", series_json(&r->series, &t));
	tables_json(r, o);
	set(o, "pauses", pauses_json(r));
	set(o, "pauses_left_out", rd_json_u64(r->pauses_left_out));
	return o;
}

static size_t count_findings(const struct rd_report *r)
{
	return r->findings.n;
}

static json_t *make_finding(const struct rd_report *r, size_t i)
{
	return rd_finding_json(&r->findings.finding[i], r->totals.first_ns);
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

static const struct list lists[] = {
	{"findings", count_findings, make_finding},
	{"conversations", count_conversations, make_conversation},
	{0},
};

const struct list *report_list(const char *key)
{
	for (const struct list *list = lists; list->key; list++)
		if (!strcmp(list->key, key))
			return list;
	return NULL;
}

void conversation_json_shorten(json_t *conversation)
{
	static const char *const details[] = {"operations", "statuses", "slowest"};
	json_t *side, *application = json_object_get(conversation, "application");
	const char *key;

	if (!conversation)
		return;
	set(conversation, "series", json_null());
	for (size_t i = 0; i < sizeof(details) / sizeof(*details); i++)
		json_object_del(application, details[i]);
	json_object_foreach (json_object_get(conversation, "sides"), key, side) {
		json_object_del(side, "psn_plot");
	}
}

json_t *rd_report_json(const struct rd_report *r)
{
	json_t *o = report_frame_json(r);

	for (const struct list *list = lists; list->key; list++)
		for (size_t i = 0; i < list->count(r); i++)
			json_array_append_new(json_object_get(o, list->key), list->make(r, i));
	return o;
}
