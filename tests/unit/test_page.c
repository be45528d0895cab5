/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The data of an HTML page: how much of a large report is in it, what it says of the rest. */
#include "test.h"
#include <rdmadump/ends.h>

#define FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII)

/* The page's JSON of a report, which is at most `bytes` long. */
static json_t *page_of(const struct rd_report *r, size_t bytes)
{
	json_t *json = rd_report_json_within(r, bytes, FLAGS);
	char *text = json_dumps(json, FLAGS);

	assert_non_null(text);
	assert_in_range(strlen(text), 1, bytes + 200); /* "left_out" comes on top */
	free(text);
	return json;
}

enum { HOSTS = 1024, PAIRS = 4096, COUNTERS = 4000, TALKS = 500 };

/* Full tables: they are cut, and what they need is not there for findings once more. */
TEST(tables_count_as_well)
{
	struct rd_host *hosts = calloc(HOSTS, sizeof(*hosts));
	struct rd_host_pair *pairs = calloc(PAIRS, sizeof(*pairs));
	struct rd_comparison *counters = calloc(COUNTERS, sizeof(*counters));
	struct rd_conversation *talks = calloc(TALKS, sizeof(*talks));
	struct rd_point point = {0};
	struct rd_report r = {.hosts = {.host = hosts, .n = HOSTS, .pair = pairs, .n_pairs = PAIRS},
		.comparisons = counters,
		.n_comparisons = COUNTERS,
		.conversations = talks,
		.n_conversations = TALKS,
		.n_shown = TALKS};
	json_t *page, *left, *list;
	size_t rows;

	for (unsigned int i = 0; i < HOSTS; i++)
		snprintf(
			hosts[i].address, sizeof(hosts[i].address), "10.0.%u.%u", i / 256, i % 256);
	for (unsigned int i = 0; i < PAIRS; i++)
		pairs[i] = (struct rd_host_pair){i % HOSTS, (i + 1) % HOSTS, i, i};
	for (unsigned int i = 0; i < TALKS; i++) {
		struct rd_finding *f = rd_findings_add(&r.findings);

		talks[i].id = i + 1;
		talks[i].series = (struct rd_series){.n = 1, .points = &point};
		f->rule = "rule";
		rd_finding_where(f, "10.0.0.1");
		rd_finding_title(f, "packets are lost");
	}
	page = page_of(&r, 200000);
	left = json_object_get(page, "left_out");
	list = json_object_get(json_object_get(page, "hosts"), "list");
	rows = json_array_size(list) + json_array_size(json_object_get(page, "counters")) +
	       json_array_size(json_object_get(json_object_get(page, "hosts"), "pairs"));
	assert_in_range(json_array_size(list), 20, HOSTS - 1);
	same(json_string_value(json_object_get(json_array_get(list, 0), "address")), "10.0.0.0",
		json_integer_value(json_object_get(left, "rows")), HOSTS + PAIRS + COUNTERS - rows);
	assert_in_range(json_array_size(json_object_get(page, "findings")), 20, TALKS - 1);
	assert_int_equal(json_integer_value(json_object_get(left, "findings")),
		TALKS - json_array_size(json_object_get(page, "findings")));
	list = json_object_get(page, "conversations");
	assert_in_range(json_array_size(list), 10, TALKS - 1);
	/* Only while there is room. */
	for (rows = 0; json_is_object(json_object_get(json_array_get(list, rows), "series"));)
		rows++;
	assert_in_range(rows, 1, json_array_size(list) - 1);
	same(json_integer_value(json_object_get(left, "series")), json_array_size(list) - rows);
	json_decref(page);

	/* A page with room for all says nothing of what is left out. */
	page = page_of(&r, 8000000);
	assert_null(json_object_get(page, "left_out"));
	assert_int_equal(json_array_size(json_object_get(page, "counters")), COUNTERS);
	json_decref(page);
	rd_findings_free(&r.findings);
	free(talks);
	free(counters);
	free(pairs);
	free(hosts);
}

enum { PATHS = 4, QPS = 250 };

static size_t count_faulty(const json_t *paths, size_t *all)
{
	size_t faulty = 0, i, k;
	const json_t *path, *qp;

	*all = 0;
	json_array_foreach (paths, i, path) {
		const json_t *qps = json_object_get(path, "qps");

		*all += json_array_size(qps);
		json_array_foreach (qps, k, qp)
			faulty += json_integer_value(json_object_get(qp, "reordered")) != 0;
	}
	return faulty;
}

/* The QPs with faults are the last of each path, and the first that a page has. */
TEST(faulty_qps_come_first)
{
	enum { FAULTY = 10 };
	struct rd_path_qp qps[PATHS][QPS];
	struct rd_path paths[PATHS] = {0};
	struct rd_ends_report r = {.paths = paths, .n_paths = PATHS};
	size_t all, n;

	memset(qps, 0, sizeof(qps));
	for (unsigned int i = 0; i < PATHS; i++) {
		paths[i].qps = qps[i];
		paths[i].n_qps = QPS;
		for (unsigned int k = 0; k < QPS; k++)
			qps[i][k] = (struct rd_path_qp){.qp = k, .reordered = k >= QPS - FAULTY};
	}
	for (size_t bytes = 1000; bytes < 1000000; bytes *= 2) {
		json_t *json = rd_ends_json_within(&r, bytes, FLAGS);
		const json_t *left = json_object_get(json, "page_left_out");
		char *text = json_dumps(json_object_get(json, "paths"), FLAGS);

		assert_non_null(text);
		assert_in_range(strlen(text), 1, bytes + 2);
		n = count_faulty(json_object_get(json, "paths"), &all);
		same(all == n || n == (size_t)PATHS * FAULTY, true,
			json_integer_value(json_object_get(left, "qps")), PATHS * QPS - all);
		same(json_integer_value(json_object_get(left, "faulty_qps")), PATHS * FAULTY - n,
			!left == (all == (size_t)PATHS * QPS), true);
		free(text);
		json_decref(json);
	}
	same(all, PATHS * QPS, n, PATHS * FAULTY);
}
