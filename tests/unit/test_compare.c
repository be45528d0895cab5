/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What changed between two analyses: matching, thresholds, damaged and hostile reports. */
#include "test.h"
#include <rdmadump/compare.h>
#include <rdmadump/report_output.h>

/* --- reports ---------------------------------------------------------------------------------- */

static json_t *report_new(void)
{
	return json_pack("{s:i, s:I, s:f, s:{}, s:{s:i}, s:[], s:[], s:i}", "version",
		RD_REPORT_VERSION, "start_ns", (json_int_t)1767225600000000000, "duration_s", 0.001,
		"capture", "totals", "frames", 1000, "findings", "conversations",
		"conversations_in_all", 0);
}

/* The reports of a test, and what changed between them. */
static json_t *x, *y, *c;

static int reports_end(void **state)
{
	json_decref(x);
	json_decref(y);
	json_decref(c);
	x = y = c = NULL;
	return 0;
}

static int reports_begin(void **state)
{
	reports_end(NULL);
	x = report_new();
	y = report_new();
	return 0;
}
#define TEST_CHANGES(name) TEST_WITH(name, reports_begin, reports_end)

struct talk {
	const char *from, *to;
	unsigned int from_qp, to_qp;
	const char *verb, *service;
	unsigned int goodput; /* bytes in a second */
	unsigned int retransmitted, samples, p50, p99;
};

static void talk_add(json_t *report, struct talk t)
{
	json_t *list = json_object_get(report, "conversations"), *side;
	int id = (int)json_array_size(list) + 1;

	side = json_pack("{s:b, s:i, s:i, s:i, s:i, s:i, s:{s:{s:i, s:i}}, s:{s:{s:i}}, "
			 "s:{s:{s:i, s:i, s:i}}}",
		"seen", 1, "frames", 1000, "requests", 1000, "goodput_bytes", t.goodput, "first_ns",
		500, "last_ns", 1000000500, "verbs", t.verb, "packets", 1000, "bytes", 100,
		"events", "retransmitted", "count", t.retransmitted, "latency", "ack", "n",
		t.samples, "p50_ns", t.p50, "p99_ns", t.p99);
	assert_non_null(side);
	json_array_append_new(
		list, json_pack("{s:i, s:s, s:o, s:{s:s, s:i}, s:{s:s, s:i}, s:{s:o}}", "id", id,
			      "transport", "RC", "connection",
			      t.service ? json_pack("{s:s}", "service_id", t.service) : json_null(),
			      "a", "address", t.from, "qp", t.from_qp, "b", "address", t.to, "qp",
			      t.to_qp, "sides", "a", side));
	json_object_set_new(report, "conversations_in_all", json_integer(id));
}

static void finding_add(json_t *report, const char *rule, int conversation, int count)
{
	json_array_append_new(json_object_get(report, "findings"),
		json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:i}", "rule", rule, "severity",
			"problem", "certainty", "likely", "where", "capture", "conversation",
			conversation ? json_integer(conversation) : json_null(), "side", "a",
			"title", "it happened", "count", count));
}

static char shown[4096]; /* the beginning of the last text */

static void compare(void)
{
	struct rd_snapshot *b, *a;
	struct rd_changes *changes;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (rd_snapshot_of_json(&b, x, "before", &failure) < 0 ||
		rd_snapshot_of_json(&a, y, "after", &failure) < 0)
		fail_msg("%s", failure.text);
	assert_int_equal(rd_changes_find(&changes, b, a, &failure), 0);
	rd_changes_text(changes, "before", 1, out);
	rd_changes_text(changes, "before", 0, out);
	fclose(out);
	for (size_t i = 0; i < len; i++)
		assert_true(text[i] == '\n' || (uint8_t)text[i] >= ' ');
	snprintf(shown, sizeof(shown), "%s", text);
	free(text);
	c = rd_changes_json(changes, "before");
	assert_non_null(c);
	rd_changes_free(changes);
	rd_snapshot_free(b);
	rd_snapshot_free(a);
}

/* ".key[number].key" of a document. */
static const json_t *at(const json_t *json, const char *list, size_t i)
{
	return json_array_get(json_object_get(json, list), i);
}

static const char *text_at(const json_t *json, const char *list, size_t i, const char *key)
{
	const char *text = json_string_value(json_object_get(at(json, list, i), key));

	return text ? text : "null";
}

static const char *change_at(const json_t *json, size_t i, const char *metric)
{
	const json_t *values = json_object_get(at(json, "traffic", i), "values");
	const json_t *value = json_object_get(values, metric);
	const char *text = json_string_value(json_object_get(value, "change"));

	assert_non_null(value);
	return text ? text : "null";
}

/* The value at "key.key" as text. */
static const char *value_at(const json_t *json, const char *path, char *text, size_t capacity)
{
	char keys[64], *save = NULL;

	snprintf(keys, sizeof(keys), "%s", path);
	for (char *key = strtok_r(keys, ".", &save); key; key = strtok_r(NULL, ".", &save))
		json = json_object_get(json, key);
	if (json_is_string(json))
		return json_string_value(json);
	if (!json || json_is_null(json))
		return "null";
	snprintf(text, capacity, "%" JSON_INTEGER_FORMAT,
		json_is_boolean(json) ? json_is_true(json) : json_integer_value(json));
	return text;
}

/* The rows of a list: of each these values, with spaces between them; NULL: no more. */
static void assert_rows(
	const json_t *json, const char *list, const char *paths, const char *const *want)
{
	size_t n = json_array_size(json_object_get(json, list));

	for (size_t i = 0; i < n || want[i]; i++) {
		char row[256] = "", all[256], number[32], *save = NULL;

		snprintf(all, sizeof(all), "%s", paths);
		for (char *path = strtok_r(all, " ", &save); path && i < n;
			path = strtok_r(NULL, " ", &save))
			snprintf(row + strlen(row), sizeof(row) - strlen(row), "%s%s",
				*row ? " " : "",
				value_at(at(json, list, i), path, number, sizeof(number)));
		if (!want[i] || strcmp(row, want[i]) != 0)
			fail_msg("%s[%zu]: %s", list, i, row);
	}
}
#define ROWS(json, list, paths, ...)                                                               \
	assert_rows(json, list, paths, (const char *const[]){__VA_ARGS__, NULL})

static double after_at(const json_t *json, size_t i, const char *metric)
{
	const json_t *values = json_object_get(at(json, "traffic", i), "values");

	return json_number_value(json_object_get(json_object_get(values, metric), "after"));
}

/* --- matching --------------------------------------------------------------------------------- */

#define TALK(q1, q2, what, id, bytes)                                                              \
	(struct talk)                                                                              \
	{                                                                                          \
		.from = "10.0.0.1", .to = "10.0.0.2", .from_qp = q1, .to_qp = q2, .verb = what,    \
		.service = id, .goodput = bytes                                                    \
	}

/* The same numbers are compared alone, whatever the order of the conversations. */
TEST_CHANGES(same_qps)
{
	talk_add(x, TALK(1, 2, "SEND", NULL, 1000000));
	talk_add(x, TALK(3, 4, "SEND", NULL, 2000000));
	talk_add(y, TALK(3, 4, "SEND", NULL, 1000000));
	talk_add(y, TALK(1, 2, "SEND", NULL, 1000000));
	compare();
	ROWS(c, "traffic", "status from_qp values.goodput_bps.change", "changed 3 worse",
		"same 1 null");
	assert_true(after_at(c, 0, "goodput_bps") > 7.9e6 && after_at(c, 0, "goodput_bps") < 8.1e6);
}

/* Other numbers: all of one service are one, and other services and verbs are their own. */
TEST_CHANGES(other_qps)
{
	talk_add(x, TALK(1, 2, "SEND", "0x1", 1000000));
	talk_add(x, TALK(3, 4, "SEND", "0x1", 1000000));
	talk_add(x, TALK(5, 6, "SEND", "0x2", 500000));
	talk_add(x, TALK(7, 8, "WRITE", "0x1", 100000));
	talk_add(y, TALK(11, 2, "SEND", "0x1", 1000000));
	talk_add(y, TALK(15, 6, "SEND", "0x2", 500000));
	talk_add(y, TALK(17, 8, "READ", "0x1", 100000));
	compare();
	ROWS(c, "traffic",
		"verb service_id status from_qp qps_before qps_after values.goodput_bps.change",
		"SEND 0x1 changed null 2 1 worse", "READ 0x1 new null 0 1 null",
		"WRITE 0x1 gone null 1 0 null", "SEND 0x2 same null 1 1 null");
}

/*
 * A report with --top: what it may have left out is not new, and the rate of several queue pairs
 * together is unknown. A missing conversation is gone: the later report has all.
 */
TEST_CHANGES(a_report_with_a_part_of_the_traffic)
{
	talk_add(x, TALK(1, 2, "SEND", "0x1", 1000000));
	talk_add(x, TALK(3, 4, "SEND", "0x2", 1000000));
	talk_add(x, TALK(5, 6, "WRITE", "0x3", 1000000));
	json_object_set_new(x, "conversations_in_all", json_integer(5));
	talk_add(y, TALK(1, 2, "SEND", "0x1", 2000000));
	talk_add(y, TALK(13, 14, "SEND", "0x2", 1000000));
	talk_add(y, TALK(15, 16, "SEND", "0x2", 1000000));
	talk_add(y, TALK(17, 18, "READ", "0x4", 1000000));
	compare();
	ROWS(c, "traffic", "status verb values.goodput_bps.change", "changed SEND better",
		"gone WRITE null", "same SEND null", "unknown READ null");
}

/* A report without services still matches by verb; the reverse direction does not. */
TEST_CHANGES(without_service)
{
	struct talk back = TALK(9, 1, "SEND", NULL, 1000000);

	back.from = "10.0.0.2";
	back.to = "10.0.0.1";
	talk_add(x, TALK(1, 2, "SEND", NULL, 1000000));
	talk_add(y, TALK(5, 6, "SEND", "0x1", 1000000));
	talk_add(y, back);
	compare();
	ROWS(c, "traffic", "status from", "new 10.0.0.2", "same 10.0.0.1");
}

/* --- thresholds ------------------------------------------------------------------------------- */

TEST_CHANGES(thresholds)
{
	static const struct {
		struct talk before, after;
		const char *metric, *want;
	} cases[] = {
		{{.goodput = 1000}, {.goodput = 1090}, "goodput_bps", "null"},
		{{.goodput = 1000}, {.goodput = 1130}, "goodput_bps", "better"},
		{{.goodput = 1000}, {.goodput = 880}, "goodput_bps", "worse"},
		{{.goodput = 0}, {.goodput = 0}, "goodput_bps", "null"},
		{{.retransmitted = 0}, {.retransmitted = 1}, "retransmitted_percent", "worse"},
		{{.retransmitted = 2}, {.retransmitted = 0}, "retransmitted_percent", "better"},
		{{.retransmitted = 3}, {.retransmitted = 9}, "retransmitted_percent", "null"},
		{{.retransmitted = 30}, {.retransmitted = 44}, "retransmitted_percent", "null"},
		{{.retransmitted = 30}, {.retransmitted = 46}, "retransmitted_percent", "worse"},
		{{.samples = 10, .p50 = 100}, {.samples = 10, .p50 = 130}, "ack_p50_ns", "worse"},
		{{.samples = 10, .p50 = 130}, {.samples = 10, .p50 = 100}, "ack_p50_ns", "better"},
		{{.samples = 10, .p50 = 100}, {.samples = 10, .p50 = 124}, "ack_p50_ns", "null"},
		{{.samples = 9, .p50 = 100}, {.samples = 99, .p50 = 900}, "ack_p50_ns", "null"},
		{{.samples = 0}, {.samples = 99, .p50 = 900}, "ack_p50_ns", "null"},
		{{.samples = 100, .p99 = 9}, {.samples = 100, .p99 = 1}, "ack_p99_ns", "better"},
		{{.samples = 100, .p99 = 9}, {.samples = 99, .p99 = 1}, "ack_p99_ns", "null"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct talk before = cases[i].before, after = cases[i].after;

		reports_begin(NULL);
		before.from = after.from = "10.0.0.1";
		before.to = after.to = "10.0.0.2";
		before.verb = after.verb = "SEND";
		talk_add(x, before);
		talk_add(y, after);
		compare();
		if (strcmp(change_at(c, 0, cases[i].metric), cases[i].want) != 0)
			fail_msg("case %zu: %s", i, change_at(c, 0, cases[i].metric));
		assert_string_equal(text_at(c, "traffic", 0, "status"),
			strcmp(cases[i].want, "null") ? "changed" : "same");
	}
}

/* Each time has the unit that fits it. */
TEST_CHANGES(times_as_text)
{
	struct talk t = TALK(1, 2, "SEND", NULL, 1000);

	t.samples = 10;
	t.p50 = 999600;
	talk_add(x, t);
	t.p50 = 1500000000;
	talk_add(y, t);
	compare();
	if (!strstr(shown, " 1 ms -> 1.5 s ") || !strstr(shown, "Z, 1 ms, 1 000 frames\n"))
		fail_msg("%s", shown);
}

/* A percentage is shown as long as it is easy to read, and none of what was 0. */
TEST_CHANGES(ratios_as_text)
{
	static const struct {
		unsigned int before, after;
		const char *text;
	} cases[] = {
		{1000, 1400, "worse (+40 %)\n"},
		{1000, 500, "better (-50 %)\n"},
		{1000, 2900, "worse (+190 %)\n"},
		{1000, 3500, "worse (3.5 times)\n"},
		{1000, 22850, "worse (23 times)\n"},
		{0, 22850, "worse\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct talk t = TALK(1, 2, "SEND", NULL, 1000);

		reports_begin(NULL);
		t.samples = 10;
		t.p50 = cases[i].before;
		talk_add(x, t);
		t.p50 = cases[i].after;
		talk_add(y, t);
		compare();
		if (!strstr(shown, cases[i].text))
			fail_msg("case %zu: %s", i, shown);
	}
}

/* Of several QPs together: rates add up, medians are weighted, the worst p99 counts. */
TEST_CHANGES(several_together)
{
	struct talk t = TALK(1, 2, "SEND", NULL, 1000);

	t.samples = 100;
	t.p50 = 10;
	t.p99 = 50;
	talk_add(x, t);
	t.from_qp = 5;
	talk_add(y, t);
	t.from_qp = 6;
	t.samples = 300;
	t.p50 = 30;
	t.p99 = 40;
	talk_add(y, t);
	compare();
	expect("1 1 1", json_array_size(json_object_get(c, "traffic")),
		after_at(c, 0, "goodput_bps") == 16000, after_at(c, 0, "ack_p50_ns") == 25);
	assert_true(after_at(c, 0, "ack_p99_ns") == 50);
}

/* --- findings --------------------------------------------------------------------------------- */

TEST_CHANGES(findings)
{
	talk_add(x, TALK(1, 2, "SEND", NULL, 1000));
	talk_add(x, TALK(3, 4, "SEND", NULL, 1000));
	talk_add(y, TALK(7, 9, "SEND", NULL, 1000)); /* another QP, the same addresses */
	finding_add(x, "a-same", 0, 5);
	finding_add(x, "b-more", 1, 15);
	finding_add(x, "b-more", 2, 5);
	finding_add(x, "c-nearly", 2, 20);
	finding_add(x, "e-gone", 1, 5);
	finding_add(y, "a-same", 0, 5);
	finding_add(y, "b-more", 1, 31);
	finding_add(y, "c-nearly", 1, 29);
	finding_add(y, "d-new", 1, 3);
	compare();
	ROWS(c, "findings", "rule status before.count after.count from",
		"d-new new null 3 10.0.0.1", "e-gone gone 5 null 10.0.0.1",
		"b-more changed 20 31 10.0.0.1", "a-same same 5 5 null",
		"c-nearly same 20 29 10.0.0.1");
}

static void group_add(json_t *report, const char *rule, int findings, int count)
{
	if (!json_object_get(report, "groups"))
		json_object_set_new(report, "groups", json_array());
	json_array_append_new(json_object_get(report, "groups"),
		json_pack("{s:s, s:i, s:i}", "rule", rule, "findings_in_all", findings, "count",
			count));
}

static int of(const json_t *finding, const char *when, const char *key)
{
	return (int)json_integer_value(json_object_get(json_object_get(finding, when), key));
}

/* Findings that a report only counted, or whose conversations it lacks, are neither new nor gone:
 * their rule is compared as one. */
TEST_CHANGES(counted_findings)
{
	struct talk other = TALK(5, 6, "SEND", NULL, 1000);

	other.from = "10.0.0.3";
	talk_add(x, TALK(1, 2, "SEND", NULL, 1000));
	talk_add(y, TALK(1, 2, "SEND", NULL, 1000));
	talk_add(y, other);
	finding_add(x, "a-fewer", 1, 5);
	group_add(x, "a-fewer", 100, 500);
	finding_add(y, "a-fewer", 1, 5);
	finding_add(y, "a-fewer", 2, 3);
	group_add(y, "a-fewer", 2, 8);
	finding_add(x, "b-all-gone", 1, 2);
	group_add(x, "b-all-gone", 70, 90);
	for (int i = 0; i < 9; i++) /* all are listed */
		finding_add(x, "c-as-many", i % 2, 4 + !i * 4);
	finding_add(y, "c-as-many", 2, 4);
	group_add(y, "c-as-many", 8, 41);
	finding_add(x, "d-no-conversation", 7, 5); /* not listed */
	group_add(x, "d-no-conversation", 1, 5);
	finding_add(y, "d-no-conversation", 1, 5);
	finding_add(y, "e-new", 2, 3);
	compare();
	ROWS(c, "findings",
		"rule status by_rule before.findings after.findings before.count after.count from",
		"e-new new 0 null 1 null 3 10.0.0.3", "b-all-gone gone 1 70 null 90 null null",
		"a-fewer changed 1 100 2 500 8 null", "c-as-many same 1 9 8 40 41 null",
		"d-no-conversation same 1 1 1 5 5 null");
	assert_int_equal(of(c, "before", "findings_left_out"), 99 + 69 + 1);
	assert_int_equal(of(c, "after", "findings_left_out"), 7);
}

/* --- what is no report ------------------------------------------------------------------------ */

TEST(refused)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{"[]", "'x' is not a report of rdmadump analyze; it must be"},
		{"7", "'x' is not a report of rdmadump analyze"},
		{"{}", "'x' is not a report of rdmadump analyze"},
		{"{\"version\": 1, \"ports\": []}", "'x' is not a report of rdmadump analyze"},
		{"{\"version\": 3, \"ends\": {}, \"captures\": []}", "'x' is a report of two ends"},
		{"{\"version\": 1, \"capture\": {}, \"totals\": {}, \"findings\": [], "
		 "\"conversations\": []}",
			"'x' is a report of version 1, not 3; analyse that capture again"},
		{"{\"version\": \"3\", \"capture\": {}, \"totals\": {}, \"findings\": [], "
		 "\"conversations\": []}",
			"'x' is not a report of rdmadump analyze"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *json = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
		struct rd_snapshot *s;
		struct rd_error err = {0};

		assert_non_null(json);
		same(rd_snapshot_of_json(&s, json, "x", &err), -1, err.class, RD_CLASS_DEVICE);
		if (!strstr(err.text, cases[i].text))
			fail_msg("'%s' lacks '%s'", err.text, cases[i].text);
		json_decref(json);
	}
}

/* Replaces the nth value of a tree, counted in depth. */
static bool replace_nth(json_t *json, unsigned int *n, json_t *by)
{
	const char *key;
	json_t *value;
	size_t i;
	void *next;

	json_object_foreach_safe(json, next, key, value)
	{
		if (!(*n)--) {
			json_object_set(json, key, by);
			return true;
		}
		if (replace_nth(value, n, by))
			return true;
	}
	json_array_foreach (json, i, value) {
		if (!(*n)--) {
			json_array_set(json, i, by);
			return true;
		}
		if (replace_nth(value, n, by))
			return true;
	}
	return false;
}

/* Any value may be of any type: the report is read or refused, and what is printed is harmless. */
TEST_CHANGES(hostile)
{
	char *long_text = malloc(100001);
	json_t *by[] = {json_null(), json_integer(-1), json_integer(INT64_MAX), json_real(1e300),
		json_string("\033[2J\n"), json_array(), json_object(), NULL};
	unsigned int read = 0, n = 0;

	memset(long_text, 'x', 100000);
	long_text[100000] = '\0';
	by[7] = json_string(long_text);
	for (bool more = true; more; n++)
		for (size_t k = 0; k < sizeof(by) / sizeof(*by) && more; k++) {
			struct rd_snapshot *s;
			unsigned int at_value = n;

			reports_begin(NULL);
			talk_add(x, TALK(1, 2, "SEND", "0x1", 1000));
			finding_add(x, "rule", 1, 1);
			more = replace_nth(x, &at_value, by[k]);
			if (rd_snapshot_of_json(&s, x, "x", NULL) < 0)
				continue;
			rd_snapshot_free(s);
			json_decref(y);
			y = json_deep_copy(x);
			compare();
			read++;
		}
	assert_true(n > 40 && read > 200);
	for (size_t k = 0; k < sizeof(by) / sizeof(*by); k++)
		json_decref(by[k]);
	free(long_text);
}
