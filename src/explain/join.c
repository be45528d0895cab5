/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Matches a line with the conversations of `rdmadump analyze`, which runs as a process. */
#include "join.h"
#include <errno.h>
#include <rdmadump/json.h>
#include <rdmadump/program.h>
#include <rdmadump/spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the report ------------------------------------------------------------------------------- */

static int run_analysis(char *program, char *const files[], unsigned int n, FILE *out)
{
	const struct rd_spawn how = {.out = fileno(out)};
	char *argv[JOIN_FILES + 3] = {program, (char *)(uintptr_t) "--json"};
	int status, rc;
	pid_t pid;

	for (unsigned int i = 0; i < n; i++)
		argv[2 + i] = files[i];
	rc = rd_spawn(&pid, argv, &how);
	if (rc) {
		errno = rc;
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : RD_CLASS_PARTIAL;
}

json_t *join_report(char *const files[], unsigned int n, bool *damaged, struct rd_error *err)
{
	FILE *out = tmpfile();
	char program[PATH_MAX];
	json_t *report = NULL;
	int status;

	if (!out)
		rd_fail(err, RD_CLASS_OUTPUT, errno, "free some space in /tmp", "temporary file");
	else if (rd_program_find(program, "rdmadump-analyze", err) == 0) {
		status = run_analysis(program, files, n, out);
		/* A file that is damaged is analysed as far as it goes. */
		if (status == 0 || status == RD_CLASS_PARTIAL) {
			rewind(out);
			report = json_loadf(out, 0, NULL);
			*damaged = status != 0;
		}
		if (!report)
			rd_fail(err, RD_CLASS_DEVICE, status < 0 ? errno : 0,
				"run 'rdmadump analyze' with these files",
				"the analysis of '%s' failed", files[0]);
	}
	if (out)
		fclose(out);
	return report;
}

/* --- which conversation ----------------------------------------------------------------------- */

/* What a line and a conversation have in common. */
enum common { BY_QPN = 8, BY_PEER_QPN = 4, BY_PEER = 2, BY_LOCAL = 2, BY_ENDING = 1 };

/* How the requests of the side that printed the status ended. */
static const char *ending_of(const struct reading *r)
{
	switch (reading_status(r)) {
	case 9:
	case 10:
	case 11:
		return "remote_error";
	case 12:
		return "retry_exceeded";
	case 13:
		return "rnr_retry_exceeded";
	}
	return "";
}

/* 0 if either is unknown, the weight if they are the same, INT_MIN if they differ. */
static int compare_qpn(const json_t *end, unsigned int qpn, int weight)
{
	const json_t *value = json_object_get(end, "qp");

	if (qpn == QPN_UNKNOWN || !json_is_integer(value))
		return 0;
	return rd_json_u64_value(value) == qpn ? weight : INT_MIN / 4;
}

static int compare_address(const json_t *end, const char *address, int weight)
{
	const char *value = rd_json_text_of(end, "address");

	if (!*address || !*value)
		return 0;
	return strcmp(value, address) == 0 ? weight : INT_MIN / 4;
}

static const char *const sides[] = {"a", "b"};

/* How well the side `here` of the conversation fits; 0 or less: not at all. */
static int fit(const json_t *conversation, unsigned int here, const struct reading *r)
{
	const json_t *own = json_object_get(conversation, sides[here]),
		     *peer = json_object_get(conversation, sides[!here]),
		     *side = json_object_get(json_object_get(conversation, "sides"), sides[here]);
	int score = compare_qpn(own, r->qpn, BY_QPN) + compare_qpn(peer, r->peer_qpn, BY_PEER_QPN) +
		    compare_address(own, r->local, BY_LOCAL) +
		    compare_address(peer, r->peer, BY_PEER);

	if (*ending_of(r) && strcmp(rd_json_text_of(side, "ending"), ending_of(r)) == 0)
		score += BY_ENDING;
	return score;
}

static json_t *common_of(const json_t *conversation, unsigned int here, const struct reading *r)
{
	const json_t *own = json_object_get(conversation, sides[here]),
		     *peer = json_object_get(conversation, sides[!here]);
	struct reading only = *r;
	json_t *by = json_array();

	if (compare_qpn(own, r->qpn, 1) > 0)
		json_array_append_new(by, json_string("QP"));
	if (compare_qpn(peer, r->peer_qpn, 1) > 0)
		json_array_append_new(by, json_string("QP of the peer"));
	if (compare_address(own, r->local, 1) > 0)
		json_array_append_new(by, json_string("address"));
	if (compare_address(peer, r->peer, 1) > 0)
		json_array_append_new(by, json_string("address of the peer"));
	only.qpn = only.peer_qpn = QPN_UNKNOWN;
	*only.local = *only.peer = '\0';
	if (fit(conversation, here, &only) > 0)
		json_array_append_new(by, json_string("how its requests ended"));
	return by;
}

/* What the report says about a conversation: its findings, and those that name it as a like one. */
static json_t *happened(const json_t *report, json_int_t id)
{
	static const char *const keys[] = {
		"title", "detail", "certainty", "meaning", "next", "doubts"};
	json_t *list = json_array(), *finding;
	size_t i;

	json_array_foreach (json_object_get(report, "findings"), i, finding) {
		json_t *part = json_object();

		if (json_integer_value(json_object_get(finding, "conversation")) != id) {
			json_decref(part);
			continue;
		}
		for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
			json_object_set(part, keys[k], json_object_get(finding, keys[k]));
		json_array_append_new(list, part);
	}
	return list;
}

static json_t *describe(const json_t *report, size_t capture, const json_t *conversation,
	unsigned int here, const struct reading *r)
{
	json_t *side = json_object_get(json_object_get(conversation, "sides"), sides[here]),
	       *verdict = json_object_get(json_object_get(report, "verdict"), "text");

	return json_pack("{s:I, s:o, s:O, s:O, s:O?, s:O?, s:o, s:O?}", "capture",
		(json_int_t)capture, "by", common_of(conversation, here, r), "here",
		json_object_get(conversation, sides[here]), "peer",
		json_object_get(conversation, sides[!here]), "ending",
		json_object_get(side, "ending"), "refused", json_object_get(side, "refused"),
		"happened",
		happened(report, json_integer_value(json_object_get(conversation, "id"))),
		"verdict", verdict);
}

/* Two captures show the same queue pairs: their findings are joined. True if it was there. */
static bool merge(json_t *found, const json_t *more)
{
	json_t *one, *finding, *old;
	size_t i, k, n;

	json_array_foreach (found, i, one) {
		if (!json_equal(json_object_get(one, "here"), json_object_get(more, "here")) ||
			!json_equal(json_object_get(one, "peer"), json_object_get(more, "peer")))
			continue;
		json_array_foreach (json_object_get(more, "happened"), k, finding) {
			bool is_new = true;

			json_array_foreach (json_object_get(one, "happened"), n, old) {
				is_new &= strcmp(rd_json_text_of(old, "title"),
						  rd_json_text_of(finding, "title")) != 0;
			}
			if (is_new)
				json_array_append(json_object_get(one, "happened"), finding);
		}
		return true;
	}
	return false;
}

/* Keeps the best ones. */
static void search(json_t *found, int *best, uint64_t *fits, const json_t *report, size_t capture,
	const struct reading *r)
{
	json_t *conversation;
	size_t i;

	json_array_foreach (json_object_get(report, "conversations"), i, conversation) {
		for (unsigned int here = 0; here < 2; here++) {
			const int score = fit(conversation, here, r);

			json_t *one;

			if (score <= 0 || score < *best)
				continue;
			if (score > *best) {
				json_array_clear(found);
				*best = score;
				*fits = 0;
			}
			one = describe(report, capture, conversation, here, r);
			if (!merge(found, one) && ++*fits <= JOINED_MAX)
				json_array_append(found, one);
			json_decref(one);
		}
	}
}

json_t *join_find(const json_t *report, const struct reading *r)
{
	json_t *found = json_array(), *captures = json_object_get(report, "captures"), *one,
	       *ends = json_object_get(json_object_get(report, "ends"), "verdict");
	uint64_t fits = 0;
	int best = 0;
	size_t i;

	if (!captures)
		search(found, &best, &fits, report, 0, r);
	json_array_foreach (captures, i, one) {
		search(found, &best, &fits, one, i, r);
	}
	json_array_foreach (found, i, one) {
		json_object_set_new(one, "fits", rd_json_u64(fits));
		if (ends)
			json_object_set(one, "verdict", json_object_get(ends, "text"));
	}
	return found;
}
