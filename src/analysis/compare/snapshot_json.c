/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a report as JSON: one that was saved, all of which is untrusted, or the present one, an
 * item at a time. An absent value is treated as none.
 */
#include "../output/output.h"
#include "compare.h"
#include <errno.h>
#include <rdmadump/json.h>
#include <string.h>

/* A snapshot that is made of items. */
struct making {
	struct rd_snapshot *s;
	json_t *talks; /* of conversations by id: both addresses */
};

static uint64_t number(const json_t *object, const char *key)
{
	return rd_json_u64_value(json_object_get(object, key));
}

static void text(char *to, size_t capacity, const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	snprintf(to, capacity, "%s", value ? value : "");
}

#define ID_LEN 24

static const char *id_text(char id[ID_LEN], uint64_t number)
{
	snprintf(id, ID_LEN, "%ju", (uintmax_t)number);
	return id;
}

/* --- conversations ---------------------------------------------------------------------------- */

static uint64_t events(const json_t *side, const char *key)
{
	return number(json_object_get(json_object_get(side, "events"), key), "count");
}

static void take_times(struct numbers *n, const json_t *sides)
{
	static const char *const names[] = {"a", "b"};

	n->first_ns = UINT64_MAX;
	for (unsigned int i = 0; i < 2; i++) {
		const json_t *side = json_object_get(sides, names[i]);
		uint64_t first = number(side, "first_ns"), last = number(side, "last_ns");

		if (!json_is_integer(json_object_get(side, "first_ns")))
			continue;
		if (first < n->first_ns)
			n->first_ns = first;
		if (last > n->last_ns)
			n->last_ns = last;
	}
}

static struct numbers numbers_of(const json_t *sides, const json_t *side)
{
	static const char *const naks[] = {"nak_sequence", "nak_invalid_request",
		"nak_remote_access", "nak_remote_operational", "nak_other"};
	static const char *const latencies[LATENCIES] = {"ack", "read", "atomic", "message"};
	struct numbers n = {.qps = 1,
		.frames = number(side, "frames"),
		.requests = number(side, "requests"),
		.goodput_bytes = number(side, "goodput_bytes"),
		.retransmitted = events(side, "retransmitted"),
		.rnr = events(side, "rnr"),
		.cnp = events(side, "cnp"),
		.ce = events(side, "ecn_ce")};
	const uint64_t copies = n.retransmitted + events(side, "duplicated");

	n.lost = events(side, "lost_upstream") + events(side, "lost_downstream");
	n.different = n.requests - (copies < n.requests ? copies : n.requests) +
		      events(side, "lost_upstream");
	for (size_t i = 0; i < sizeof(naks) / sizeof(*naks); i++)
		n.naks += events(side, naks[i]);
	for (unsigned int i = 0; i < LATENCIES; i++) {
		const json_t *l = json_object_get(json_object_get(side, "latency"), latencies[i]);

		n.latency[i].n = number(l, "n");
		n.latency[i].p50 = number(l, "p50_ns");
		n.latency[i].p99 = number(l, "p99_ns");
	}
	take_times(&n, sides);
	return n;
}

/* The verb with most bytes; of equal ones the first in the order of reports. */
static void take_verb(struct stream *x, const json_t *side)
{
	const json_t *verbs = json_object_get(side, "verbs"), *best = NULL;

	for (unsigned int v = 0; v < RD_VERB_COUNT; v++) {
		const char *name = rd_verb_name(v);
		const json_t *verb = json_object_get(verbs, name);

		if (!number(verb, "packets") ||
			(best && number(verb, "bytes") <= number(best, "bytes")))
			continue;
		best = verb;
		snprintf(x->verb, sizeof(x->verb), "%s", name);
	}
}

static uint32_t qp_of(const json_t *end)
{
	const json_t *qp = json_object_get(end, "qp");

	return json_is_integer(qp) ? (uint32_t)json_integer_value(qp) : RD_QP_UNKNOWN;
}

static void take_conversation(struct making *m, const json_t *c)
{
	static const char *const names[] = {"a", "b"};
	const json_t *sides = json_object_get(c, "sides");
	struct rd_snapshot *s = m->s;
	char id[ID_LEN], address[2][RD_ADDRESS_LEN];

	text(address[0], sizeof(address[0]), json_object_get(c, "a"), "address");
	text(address[1], sizeof(address[1]), json_object_get(c, "b"), "address");
	json_object_set_new(m->talks, id_text(id, number(c, "id")),
		json_pack("[s, s]", address[0], address[1]));
	for (unsigned int i = 0; i < 2; i++) {
		const json_t *from = json_object_get(c, names[i]);
		const json_t *to = json_object_get(c, names[!i]);
		const json_t *side = json_object_get(sides, names[i]);
		struct stream *x = &s->streams[s->n_streams];

		if (!number(side, "requests"))
			continue;
		*x = (struct stream){.from_qp = qp_of(from), .to_qp = qp_of(to)};
		memcpy(x->from, address[i], sizeof(x->from));
		memcpy(x->to, address[!i], sizeof(x->to));
		text(x->transport, sizeof(x->transport), c, "transport");
		text(x->service, sizeof(x->service), json_object_get(c, "connection"),
			"service_id");
		take_verb(x, side);
		x->n = numbers_of(sides, side);
		s->n_streams++;
	}
}

/* --- findings --------------------------------------------------------------------------------- */

static enum rd_certainty certainty_of(const char *name)
{
	enum rd_certainty c = RD_CERTAIN;

	while (c > RD_POSSIBLE && strcmp(rd_certainty_name(c), name) != 0)
		c--;
	return c;
}

static void take_finding(struct making *m, const json_t *f)
{
	const uint64_t conversation = number(f, "conversation");
	char id[ID_LEN];
	const json_t *talk = json_object_get(m->talks, id_text(id, conversation));
	struct found *x = &m->s->found[m->s->n_found++];
	char word[WORD_LEN];

	*x = (struct found){.n = 1, .count = number(f, "count")};
	text(x->rule, sizeof(x->rule), f, "rule");
	text(x->title, sizeof(x->title), f, "title");
	text(x->counter, sizeof(x->counter), f, "counter");
	text(word, sizeof(word), f, "severity");
	x->severity = rd_severity_of(word);
	text(word, sizeof(word), f, "certainty");
	x->certainty = certainty_of(word);
	text(word, sizeof(word), f, "side");
	if (conversation && talk) {
		const bool b = strcmp(word, "b") == 0;

		strcpy(x->from, json_string_value(json_array_get(talk, b)));
		strcpy(x->to, json_string_value(json_array_get(talk, !b)));
	} else if (conversation) {
		x->no_place = true;
	} else {
		text(x->where, sizeof(x->where), f, "where");
	}
}

/* What the report says of findings that it only counted. */
static void take_groups(struct rd_snapshot *s, const json_t *groups)
{
	size_t i;
	json_t *g;

	json_array_foreach (groups, i, g) {
		char rule[RULE_LEN];

		text(rule, sizeof(rule), g, "rule");
		rule_total(s, rule, number(g, "findings_in_all"), number(g, "count"));
	}
}

/* --- the document ----------------------------------------------------------------------------- */

static int check(const json_t *report, const char *name, struct rd_error *err)
{
	static const char todo[] = "it must be what 'rdmadump analyze --json' printed";
	const json_t *version = json_object_get(report, "version");

	if (json_object_get(report, "ends"))
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"save an analysis of one capture: analyze --json FILE",
			"'%s' is a report of two ends", name);
	if (!json_is_integer(version) || !json_is_object(json_object_get(report, "capture")) ||
		!json_is_object(json_object_get(report, "totals")) ||
		!json_is_array(json_object_get(report, "conversations")) ||
		!json_is_array(json_object_get(report, "findings")))
		return rd_fail(err, RD_CLASS_DEVICE, 0, todo,
			"'%s' is not a report of rdmadump analyze", name);
	if (json_integer_value(version) != RD_REPORT_VERSION)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "analyse that capture again",
			"'%s' is a report of version %lld, not %d", name,
			(long long)json_integer_value(version), RD_REPORT_VERSION);
	return 0;
}

static int making_begin(struct making *m, size_t conversations, size_t findings, const char *name,
	struct rd_error *err)
{
	*m = (struct making){.s = snapshot_new(conversations, findings), .talks = json_object()};
	if (m->s && m->talks)
		return 0;
	json_decref(m->talks);
	rd_snapshot_free(m->s);
	return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot compare '%s'", name);
}

static struct rd_snapshot *making_end(struct making *m, const json_t *groups)
{
	json_decref(m->talks);
	found_join(m->s);
	take_groups(m->s, groups);
	return m->s;
}

int rd_snapshot_of_json(
	struct rd_snapshot **out, const json_t *report, const char *name, struct rd_error *err)
{
	const json_t *conversations = json_object_get(report, "conversations");
	const json_t *findings = json_object_get(report, "findings");
	const size_t n = json_array_size(conversations);
	struct making m;
	double seconds;
	uint64_t all;

	if (check(report, name, err) < 0 ||
		making_begin(&m, n, json_array_size(findings), name, err) < 0)
		return -1;
	m.s->start_ns = (uint64_t)json_integer_value(json_object_get(report, "start_ns"));
	seconds = json_number_value(json_object_get(report, "duration_s"));
	m.s->duration_ns = seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
	m.s->frames = number(json_object_get(report, "totals"), "frames");
	all = number(report, "conversations_in_all");
	m.s->left_out = all > n ? all - n : 0;
	for (size_t i = 0; i < n; i++)
		take_conversation(&m, json_array_get(conversations, i));
	for (size_t i = 0; i < json_array_size(findings); i++)
		take_finding(&m, json_array_get(findings, i));
	*out = making_end(&m, json_object_get(report, "groups"));
	return 0;
}

/* Item after item: a tree of all would need ten times the memory of the analysis. */
static void take_items(struct making *m, const struct rd_report *r, size_t n,
	json_t *(*make)(const struct rd_report *r, size_t i),
	void (*take)(struct making *m, const json_t *item))
{
	for (size_t i = 0; i < n; i++) {
		json_t *item = make(r, i);

		take(m, item);
		json_decref(item);
	}
}

int rd_snapshot_of_report(struct rd_snapshot **out, const struct rd_report *r, struct rd_error *err)
{
	struct making m;
	json_t *frame;

	if (making_begin(&m, r->n_conversations, r->findings.n, "the present report", err) < 0)
		return -1;
	m.s->start_ns = r->totals.first_ns - r->totals.moved_ns;
	m.s->duration_ns = r->totals.last_ns - r->totals.first_ns;
	m.s->frames = r->totals.frames;
	take_items(&m, r, r->n_conversations, report_conversation_json, take_conversation);
	take_items(&m, r, r->findings.n, report_finding_json, take_finding);
	frame = report_frame_json(r);
	*out = making_end(&m, json_object_get(frame, "groups"));
	json_decref(frame);
	return 0;
}
