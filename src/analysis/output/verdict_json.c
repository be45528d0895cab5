/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verdict, the hosts and the groups of a report as JSON: docs/schema/analyze.json. */
#include "output.h"
#include <rdmadump/json.h>
#include <stdlib.h>

#define GROUP_MAX 64 /* findings of a group that are named */

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *text_or_null(const char *text)
{
	return text && *text ? rd_json_string(text) : json_null();
}

static json_t *places_json(unsigned int places)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < RD_PLACES; i++)
		if (places >> i & 1)
			json_array_append_new(list, json_string(rd_place_key(1U << i)));
	return list;
}

json_t *times_json(const struct rd_times *t)
{
	json_t *o;
	char key[32];

	if (!t)
		return json_null();
	o = json_object();
	for (unsigned int i = 0; i < RD_TIME_COUNT; i++) {
		snprintf(key, sizeof(key), "%s_ns", rd_time_keys[i]);
		set(o, key, rd_json_u64(t->ns[i]));
	}
	set(o, "pauses", rd_json_u64(t->pauses));
	return o;
}

static json_t *slow_json(const struct rd_slow *s)
{
	json_t *o;

	if (!s->all_ns)
		return json_null();
	o = json_object();
	set(o, "spent", json_string(rd_time_keys[s->what]));
	set(o, "share", json_real((double)(int)(s->share * 1000 + 0.5) / 1000));
	set(o, "where", rd_json_string(rd_place_key(s->places)));
	set(o, "places", places_json(s->places));
	set(o, "certainty", json_string(rd_certainty_name(s->certainty)));
	set(o, "conversation", rd_json_u64(s->conversation));
	set(o, "side", json_string(s->side ? "b" : "a"));
	set(o, "times", times_json(&s->sum));
	return o;
}

static json_t *stragglers_json(const struct rd_stragglers *s)
{
	json_t *o = json_object(), *list = json_array();

	for (unsigned int i = 0; i < s->n && i < RD_STRAGGLERS; i++)
		json_array_append_new(list,
			json_pack("{s:o, s:o}", "conversation", rd_json_u64(s->conversation[i]),
				"p50_ns", rd_json_u64(s->p50_ns[i])));
	set(o, "count", rd_json_u64(s->n));
	set(o, "of", rd_json_u64(s->of));
	set(o, "median_ns", rd_json_u64(s->median_ns));
	set(o, "host", text_or_null(s->host));
	set(o, "slowest", list);
	return o;
}

/* Since the first frame; of two captures, one may have begun before the other. 0: unknown. */
static json_t *moment_json(uint64_t ns, uint64_t origin_ns)
{
	return ns ? json_integer((json_int_t)(ns - origin_ns)) : json_null();
}

json_t *verdict_json(const struct rd_report *r)
{
	const struct rd_judgement *v = &r->verdict;
	char *text = verdict_sentences(v);
	json_t *o = json_object();

	set(o, "text", rd_json_string(text));
	set(o, "rule", rd_json_string(v->rule));
	set(o, "what", text_or_null(v->what));
	set(o, "whom", text_or_null(v->whom));
	set(o, "how_much", text_or_null(v->how_much));
	set(o, "place", text_or_null(v->place));
	set(o, "also", text_or_null(v->also));
	set(o, "time", text_or_null(v->time));
	set(o, "since_ns", moment_json(v->since_ns, r->totals.first_ns));
	set(o, "until_ns", moment_json(v->until_ns, r->totals.first_ns));
	set(o, "messages", rd_json_u64(v->messages));
	set(o, "messages_delayed", rd_json_u64(v->delayed));
	set(o, "certainty", v->rule ? json_string(rd_certainty_name(v->certainty)) : json_null());
	set(o, "where", rd_json_string(rd_place_key(v->places)));
	set(o, "places", places_json(v->places));
	set(o, "where_certainty",
		v->places ? json_string(rd_certainty_name(v->where)) : json_null());
	set(o, "sender", text_or_null(v->sender));
	set(o, "receiver", text_or_null(v->receiver));
	set(o, "incast_hosts", rd_json_u64_or_null(v->incast));
	set(o, "surer", text_or_null(v->surer));
	set(o, "capture_next", text_or_null(v->capture_next));
	set(o, "slow", slow_json(&v->slow));
	set(o, "stragglers", stragglers_json(&v->stragglers));
	free(text);
	return o;
}

static json_t *host_json(const struct rd_host *h, uint64_t origin_ns)
{
	json_t *o = json_object();

	set(o, "address", rd_json_string(h->address));
	set(o, "sent_frames", rd_json_u64(h->sent_frames));
	set(o, "sent_bytes", rd_json_u64(h->sent_bytes));
	set(o, "received_frames", rd_json_u64(h->received_frames));
	set(o, "received_bytes", rd_json_u64(h->received_bytes));
	set(o, "senders", rd_json_u64(h->senders));
	set(o, "receivers", rd_json_u64(h->receivers));
	set(o, "peak_bytes", rd_json_u64(h->peak_bytes));
	set(o, "peak_start_ns", h->peak_bytes ? rd_json_u64(h->peak_ns - origin_ns) : json_null());
	set(o, "peak_frame", rd_json_u64_or_null(h->peak_frame));
	set(o, "peak_senders", rd_json_u64(h->peak_senders));
	set(o, "most_senders", rd_json_u64(h->most_senders));
	return o;
}

json_t *hosts_json(const struct rd_report *r)
{
	const struct rd_hosts *h = &r->hosts;
	json_t *o = json_object(), *list = json_array(), *pairs = json_array();

	for (size_t i = 0; i < h->n; i++)
		json_array_append_new(list, host_json(&h->host[i], r->totals.first_ns));
	for (size_t i = 0; i < h->n_pairs; i++)
		json_array_append_new(
			pairs, json_pack("{s:o, s:o, s:o, s:o}", "from",
				       rd_json_string(h->host[h->pair[i].from].address), "to",
				       rd_json_string(h->host[h->pair[i].to].address), "frames",
				       rd_json_u64(h->pair[i].frames), "bytes",
				       rd_json_u64(h->pair[i].bytes)));
	set(o, "list", list);
	set(o, "pairs", pairs);
	set(o, "frames_left_out", rd_json_u64(h->frames_left_out));
	set(o, "bytes_left_out", rd_json_u64(h->bytes_left_out));
	return o;
}

json_t *groups_json(const struct rd_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->groups.n; i++) {
		const struct rd_group *g = &r->groups.group[i];
		json_t *o = json_object(), *findings = json_array();

		for (size_t k = 0; k < g->n && k < GROUP_MAX; k++)
			json_array_append_new(findings, rd_json_u64(g->finding[k]));
		set(o, "rule", rd_json_string(g->rule));
		set(o, "count", rd_json_u64(g->count));
		set(o, "findings_in_all", rd_json_u64(g->n + g->left_out));
		set(o, "findings", findings);
		json_array_append_new(list, o);
	}
	return list;
}
