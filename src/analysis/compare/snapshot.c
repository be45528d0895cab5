/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the comparison needs of a report as JSON: one that was saved, all of which is untrusted, or
 * the present one, an item at a time. An absent value is treated as none.
 */
#include "../output/output.h"
#include "compare.h"
#include <errno.h>
#include <rdmadump/json.h>
#include <rdmadump/order.h>
#include <stdlib.h>
#include <string.h>

/* --- items ------------------------------------------------------------------------------------ */

const char *item_text(const struct item *x, enum key key)
{
	const char *text = json_string_value(x->key[key]);

	return text ? text : "";
}

uint32_t item_qp(const struct item *x, enum key key)
{
	const json_t *qp = x->key[key];

	return json_is_integer(qp) ? (uint32_t)json_integer_value(qp) : RD_QP_UNKNOWN;
}

int item_order(unsigned int mask, const struct item *x, const struct item *y)
{
	int order = 0;

	for (unsigned int k = 0; k < KEYS && !order; k++) {
		const uint32_t a = item_qp(x, k), b = item_qp(y, k);

		if (mask >> k & 1)
			order = a != b ? (a > b) - (a < b)
				       : strcmp(item_text(x, k), item_text(y, k));
	}
	return order;
}

void item_add(struct item *sum, const struct item *x)
{
	if (!sum->n[N_ITEMS] || x->severity > sum->severity) {
		memcpy(sum->key, x->key, sizeof(sum->key));
		sum->severity = x->severity;
		sum->certainty = x->certainty;
	}
	if (!sum->n[N_ITEMS] || x->first_ns < sum->first_ns)
		sum->first_ns = x->first_ns;
	if (x->last_ns > sum->last_ns)
		sum->last_ns = x->last_ns;
	sum->partial |= x->partial;
	for (unsigned int i = 0; i < N_ACK; i++)
		sum->n[i] += x->n[i];
	for (unsigned int i = N_ACK; i < NUMBERS; i += 3) {
		const double a = (double)sum->n[i], b = (double)x->n[i];

		if (!x->n[i])
			continue;
		/* The median of all is between theirs: weighted by their samples. */
		sum->n[i + 1] =
			(uint64_t)(((double)sum->n[i + 1] * a + (double)x->n[i + 1] * b) / (a + b));
		if (x->n[i + 2] > sum->n[i + 2])
			sum->n[i + 2] = x->n[i + 2];
		sum->n[i] += x->n[i];
	}
}

static void keep(struct item *x, enum key key, json_t *value)
{
	x->key[key] = json_incref(value);
}

static void items_free(struct items *list)
{
	for (size_t i = 0; i < list->n; i++)
		for (unsigned int k = 0; k < KEYS; k++)
			json_decref(list->item[i].key[k]);
	free(list->item);
}

void rd_snapshot_free(struct rd_snapshot *s)
{
	if (!s)
		return;
	items_free(&s->streams);
	items_free(&s->found);
	free(s);
}

/* --- conversations ---------------------------------------------------------------------------- */

/* A snapshot that is made of items. */
struct making {
	struct rd_snapshot *s;
	json_t *talks; /* conversations by id */
};

#define ID_LEN 24

static const char *id_text(char id[ID_LEN], uint64_t number)
{
	snprintf(id, ID_LEN, "%ju", (uintmax_t)number);
	return id;
}

static uint64_t number(const json_t *object, const char *key)
{
	return rd_json_u64_value(json_object_get(object, key));
}

#define EVENT(to, key)                                                                             \
	{                                                                                          \
		to,                                                                                \
		{                                                                                  \
			"events", key, "count"                                                     \
		}                                                                                  \
	}
#define LATENCY(to, kind)                                                                          \
	{to, {"latency", kind, "n"}}, {(to) + 1, {"latency", kind, "p50_ns"}},                     \
	{                                                                                          \
		(to) + 2,                                                                          \
		{                                                                                  \
			"latency", kind, "p99_ns"                                                  \
		}                                                                                  \
	}

/* The numbers of a side, as sums. */
static const struct {
	unsigned int to; /* enum number */
	const char *path[3];
} sources[] = {
	{N_FRAMES, {"frames"}},
	{N_REQUESTS, {"requests"}},
	{N_GOODPUT, {"goodput_bytes"}},
	EVENT(N_RETRANSMITTED, "retransmitted"),
	EVENT(N_COPIES, "retransmitted"),
	EVENT(N_COPIES, "duplicated"),
	EVENT(N_UPSTREAM, "lost_upstream"),
	EVENT(N_LOST, "lost_upstream"),
	EVENT(N_LOST, "lost_downstream"),
	EVENT(N_NAKS, "nak_sequence"),
	EVENT(N_NAKS, "nak_invalid_request"),
	EVENT(N_NAKS, "nak_remote_access"),
	EVENT(N_NAKS, "nak_remote_operational"),
	EVENT(N_NAKS, "nak_other"),
	EVENT(N_RNR, "rnr"),
	EVENT(N_CNP, "cnp"),
	EVENT(N_CE, "ecn_ce"),
	LATENCY(N_ACK, "ack"),
	LATENCY(N_READ, "read"),
	LATENCY(N_ATOMIC, "atomic"),
	LATENCY(N_MESSAGE, "message"),
};

static void take_numbers(struct item *x, const json_t *side)
{
	uint64_t *n = x->n;

	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		const json_t *value = side;

		for (size_t k = 0; k < 3 && sources[i].path[k]; k++)
			value = json_object_get(value, sources[i].path[k]);
		n[sources[i].to] += rd_json_u64_value(value);
	}
	n[N_ITEMS] = 1;
	n[N_DIFFERENT] = n[N_REQUESTS] -
			 (n[N_COPIES] < n[N_REQUESTS] ? n[N_COPIES] : n[N_REQUESTS]) +
			 n[N_UPSTREAM];
}

static const char *const ends[] = {"a", "b"};

static void take_times(struct item *x, const json_t *sides)
{
	x->first_ns = UINT64_MAX;
	for (unsigned int i = 0; i < 2; i++) {
		const json_t *side = json_object_get(sides, ends[i]);
		uint64_t first = number(side, "first_ns"), last = number(side, "last_ns");

		if (!json_is_integer(json_object_get(side, "first_ns")))
			continue;
		if (first < x->first_ns)
			x->first_ns = first;
		if (last > x->last_ns)
			x->last_ns = last;
	}
}

/* The verb with most bytes; of equal ones the first in the order of reports. */
static json_t *verb_of(const json_t *side)
{
	const json_t *verbs = json_object_get(side, "verbs"), *best = NULL;
	const char *name = NULL;

	for (unsigned int v = 0; v < RD_VERB_COUNT; v++) {
		const json_t *verb = json_object_get(verbs, rd_verb_name(v));

		if (!number(verb, "packets") ||
			(best && number(verb, "bytes") <= number(best, "bytes")))
			continue;
		best = verb;
		name = rd_verb_name(v);
	}
	return rd_json_string(name);
}

static void take_conversation(struct making *m, const json_t *c)
{
	const json_t *sides = json_object_get(c, "sides");
	char id[ID_LEN];

	json_object_set_new(m->talks, id_text(id, number(c, "id")),
		json_pack("{s:O?, s:O?}", ends[0],
			json_object_get(json_object_get(c, "a"), "address"), ends[1],
			json_object_get(json_object_get(c, "b"), "address")));
	for (unsigned int i = 0; i < 2; i++) {
		const json_t *from = json_object_get(c, ends[i]),
			     *to = json_object_get(c, ends[!i]);
		const json_t *side = json_object_get(sides, ends[i]);
		struct item *x = &m->s->streams.item[m->s->streams.n];

		if (!number(side, "requests"))
			continue;
		keep(x, KEY_FROM, json_object_get(from, "address"));
		keep(x, KEY_TO, json_object_get(to, "address"));
		keep(x, KEY_FROM_QP, json_object_get(from, "qp"));
		keep(x, KEY_TO_QP, json_object_get(to, "qp"));
		keep(x, KEY_TRANSPORT, json_object_get(c, "transport"));
		keep(x, KEY_SERVICE,
			json_object_get(json_object_get(c, "connection"), "service_id"));
		x->key[KEY_VERB] = verb_of(side);
		take_numbers(x, side);
		take_times(x, sides);
		m->s->streams.n++;
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
	const bool b = !strcmp(rd_json_text_of(f, "side"), "b");
	struct item *x = &m->s->found.item[m->s->found.n++];

	x->n[N_ITEMS] = 1;
	x->n[N_COUNT] = number(f, "count");
	x->severity = rd_severity_of(rd_json_text_of(f, "severity"));
	x->certainty = certainty_of(rd_json_text_of(f, "certainty"));
	x->partial = conversation && !talk;
	keep(x, KEY_RULE, json_object_get(f, "rule"));
	keep(x, KEY_TITLE, json_object_get(f, "title"));
	keep(x, KEY_COUNTER, json_object_get(f, "counter"));
	if (!conversation)
		keep(x, KEY_WHERE, json_object_get(f, "where"));
	keep(x, KEY_FROM, json_object_get(talk, ends[b]));
	keep(x, KEY_TO, json_object_get(talk, ends[!b]));
}

/* What the report says of findings of a rule that it may only have counted: an item without a
 * severity. */
static void take_group(struct making *m, const json_t *g)
{
	struct item *x = &m->s->found.item[m->s->found.n++];

	keep(x, KEY_RULE, json_object_get(g, "rule"));
	x->n[N_ITEMS] = number(g, "findings_in_all");
	x->n[N_COUNT] = number(g, "count");
}

static uint64_t above(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* By rule, the worst first; what groups say of it is behind them. */
static int by_rule(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return item_order(BIT(RULE), x, y) ?: RD_ORDER(y->severity, x->severity);
}

/* What a group has becomes what it has beyond the findings that are listed. */
static void settle(struct rd_snapshot *s)
{
	struct items *list = &s->found;
	struct item listed = {0};

	qsort(list->item, list->n, sizeof(*list->item), by_rule);
	for (size_t i = 0; i < list->n; i++) {
		struct item *x = &list->item[i];

		if (i && item_order(BIT(RULE), x, x - 1) != 0)
			listed = (struct item){0};
		if (x->severity) {
			item_add(&listed, x);
		} else {
			x->n[N_ITEMS] =
				listed.severity ? above(x->n[N_ITEMS], listed.n[N_ITEMS]) : 0;
			x->n[N_COUNT] = x->n[N_ITEMS] ? above(x->n[N_COUNT], listed.n[N_COUNT]) : 0;
			x->partial = x->n[N_ITEMS];
		}
		s->findings_left_out += x->partial ? x->n[N_ITEMS] : 0;
	}
}

static void take_array(
	struct making *m, const json_t *array, void (*take)(struct making *m, const json_t *item))
{
	for (size_t i = 0; i < json_array_size(array); i++)
		take(m, json_array_get(array, i));
}

/* --- the document ----------------------------------------------------------------------------- */

static int check(const json_t *report, const char *name, struct rd_error *err)
{
	static const char todo[] = "it must be what 'rdmadump analyze --json' printed";
	const json_t *version = json_object_get(report, "version");

	if (json_object_get(report, "captures"))
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"save an analysis of one capture: analyze --json FILE",
			"'%s' is a report of two ends, or of several points", name);
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

/* Room for these, and what the rest of the report says. */
static int begin(struct making *m, const json_t *report, size_t conversations, size_t findings,
	const char *name, struct rd_error *err)
{
	const json_t *groups = json_object_get(report, "groups");
	const double seconds = json_number_value(json_object_get(report, "duration_s"));
	struct rd_snapshot *s = calloc(1, sizeof(*s));

	*m = (struct making){.s = s, .talks = json_object()};
	if (s) {
		s->streams.item = calloc(2 * conversations + 1, sizeof(*s->streams.item));
		s->found.item =
			calloc(findings + json_array_size(groups) + 1, sizeof(*s->found.item));
	}
	if (!s || !m->talks || !s->streams.item || !s->found.item) {
		json_decref(m->talks);
		rd_snapshot_free(s);
		return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot compare '%s'", name);
	}
	s->start_ns = (uint64_t)json_integer_value(json_object_get(report, "start_ns"));
	s->duration_ns = seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
	s->frames = number(json_object_get(report, "totals"), "frames");
	s->conversations = conversations;
	s->left_out = above(number(report, "conversations_in_all"), conversations);
	take_array(m, groups, take_group);
	return 0;
}

static struct rd_snapshot *end(struct making *m)
{
	json_decref(m->talks);
	settle(m->s);
	return m->s;
}

int rd_snapshot_of_json(
	struct rd_snapshot **out, const json_t *report, const char *name, struct rd_error *err)
{
	const json_t *conversations = json_object_get(report, "conversations");
	const json_t *findings = json_object_get(report, "findings");
	struct making m;

	if (check(report, name, err) < 0 || begin(&m, report, json_array_size(conversations),
						    json_array_size(findings), name, err) < 0)
		return -1;
	take_array(&m, conversations, take_conversation);
	take_array(&m, findings, take_finding);
	*out = end(&m);
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
	json_t *frame = report_frame_json(r);
	struct making m;
	const int ret =
		begin(&m, frame, r->n_conversations, r->findings.n, "the present report", err);

	json_decref(frame);
	if (ret < 0)
		return -1;
	take_items(&m, r, r->n_conversations, report_conversation_json, take_conversation);
	take_items(&m, r, r->findings.n, report_finding_json, take_finding);
	*out = end(&m);
	return 0;
}
