/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Matches a line with the conversations of `rdmadump analyze`, which runs as a process. */
#include "explain.h"
#include <errno.h>
#include <rdmadump/json.h>
#include <rdmadump/program.h>
#include <rdmadump/spawn.h>
#include <rdmadump/units.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the report ------------------------------------------------------------------------------- */

static int run_analysis(char *program, char *const files[], unsigned int n, FILE *out)
{
	const struct rd_spawn how = {.out = fileno(out)};
	char *argv[JOIN_FILES + 3] = {program, (char *)(uintptr_t) "--json"};
	unsigned int args = 2;
	int status, rc;
	pid_t pid;

	for (unsigned int i = 0; i < n; i++)
		argv[args++] = files[i];
	rc = rd_spawn(&pid, argv, &how);
	if (rc) {
		errno = rc;
		return -1;
	}
	if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) < 0)
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

/* What a line and a conversation have in common. The time alone tells nothing. */
enum common { BY_QPN = 16, BY_PEER_QPN = 8, BY_PEER = 4, BY_LOCAL = 4, BY_TIME = 2, BY_ENDING = 1 };

#define CLOCKS_NS  INT64_C(1000000000)	/* logs have whole seconds, and clocks of their own */
#define SILENCE_NS INT64_C(60000000000) /* retries take no longer with usual timeouts */

/* When something was, in ns since 1970, and its distance from the line. */
struct span {
	uint64_t from, until;
	int64_t apart; /* negative: it ended so long before; positive: it began so long after; 0 */
};

static const char *const sides[] = {"a", "b"};

/* A line, and what fits it best so far. */
struct search {
	const struct reading *r;
	uint64_t line; /* when it was printed, in ns since 1970; 0: unknown */
	bool zoned;    /* it has a time zone */
	json_t *found;
	int best;
	uint64_t distance; /* in time, of the best ones */
	uint64_t fits;
};

static struct span span_of(const struct search *s, uint64_t from, uint64_t until)
{
	const int64_t later = (int64_t)(from - s->line), earlier = (int64_t)(s->line - until);

	return (struct span){from, until,
		!s->line	      ? 0
		: later > CLOCKS_NS   ? later
		: earlier > CLOCKS_NS ? -earlier
				      : 0};
}

static struct span span_of_capture(const struct search *s, const json_t *report)
{
	const uint64_t from = rd_json_u64_value(json_object_get(report, "start_ns"));

	return span_of(s, from,
		from + (uint64_t)(json_number_value(json_object_get(report, "duration_s")) * 1e9));
}

/* The times of an object are since the start of the report's capture; null: none. */
static struct span span_of_pair(
	const struct search *s, const json_t *report, const json_t *conversation)
{
	const uint64_t start = rd_json_u64_value(json_object_get(report, "start_ns"));
	uint64_t from = UINT64_MAX, until = 0;

	for (unsigned int i = 0; i < 2; i++) {
		const json_t *side = json_object_get(
				     json_object_get(conversation, "sides"), sides[i]),
			     *first = json_object_get(side, "first_ns");
		const uint64_t a = start + rd_json_u64_value(first),
			       b = start + rd_json_u64_value(json_object_get(side, "last_ns"));

		if (!json_is_integer(first))
			continue;
		from = a < from ? a : from;
		until = b > until ? b : until;
	}
	return span_of(s, from, until);
}

/* Why the queue pair may not be the line's, or not show its cause; "": time gives no reason. */
static const char *doubt_of(
	const struct search *s, struct span capture, struct span pair, char *text, size_t size)
{
	const int64_t apart = capture.apart ? capture.apart : pair.apart;
	const bool is_late = apart > 0;
	char time[RD_UNITS_LEN];

	*text = '\0';
	if (!capture.apart && !is_late && -apart < SILENCE_NS)
		return text;
	snprintf(text, size, "the %s %s %s %s the line: %s%s",
		capture.apart ? "capture" : "packets of this queue pair",
		is_late		? capture.apart ? "begins" : "begin"
		: capture.apart ? "ends"
				: "end",
		rd_fmt_duration(time, (uint64_t)llabs(apart)), is_late ? "after" : "before",
		capture.apart ? "it may lack the cause" : "another one may have had its number",
		s->zoned ? "" : " (the line has no time zone: that of this machine is taken)");
	return text;
}

/* How the requests of the side that printed the status end; of a capture that ends soon. */
static const struct {
	unsigned int status;
	const char *ending, *soon, *event;
} endings[] = {
	{9, "remote_error", NULL, NULL},
	{10, "remote_error", NULL, NULL},
	{11, "remote_error", NULL, NULL},
	{12, "retry_exceeded", "responses_stopped", NULL},
	{13, "rnr_retry_exceeded", "open", "rnr"},
};

static bool ends_as(const json_t *side, unsigned int status)
{
	const char *ending = rd_json_text_of(side, "ending");

	for (size_t i = 0; i < RD_COUNT(endings); i++) {
		if (endings[i].status != status)
			continue;
		if (!strcmp(ending, endings[i].ending))
			return true;
		return endings[i].soon && !strcmp(ending, endings[i].soon) &&
		       (!endings[i].event ||
			       json_object_get(json_object_get(side, "events"), endings[i].event));
	}
	return false;
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

/* How well the side `here` of the conversation fits; 0 or less: not at all. */
static int fit(const json_t *conversation, unsigned int here, const struct reading *r)
{
	const json_t *own = json_object_get(conversation, sides[here]),
		     *peer = json_object_get(conversation, sides[!here]),
		     *side = json_object_get(json_object_get(conversation, "sides"), sides[here]);
	int score = compare_qpn(own, r->qpn, BY_QPN) + compare_qpn(peer, r->peer_qpn, BY_PEER_QPN) +
		    compare_address(own, r->local, BY_LOCAL) +
		    compare_address(peer, r->peer, BY_PEER);

	if (ends_as(side, reading_status(r)))
		score += BY_ENDING;
	return score;
}

static json_t *common_of(
	const json_t *conversation, unsigned int here, const struct search *s, struct span pair)
{
	const json_t *own = json_object_get(conversation, sides[here]),
		     *peer = json_object_get(conversation, sides[!here]);
	struct reading only = *s->r;
	json_t *by = json_array();

	if (compare_qpn(own, s->r->qpn, 1) > 0)
		json_array_append_new(by, json_string("QP"));
	if (compare_qpn(peer, s->r->peer_qpn, 1) > 0)
		json_array_append_new(by, json_string("QP of the peer"));
	if (compare_address(own, s->r->local, 1) > 0)
		json_array_append_new(by, json_string("address"));
	if (compare_address(peer, s->r->peer, 1) > 0)
		json_array_append_new(by, json_string("address of the peer"));
	if (s->line && !pair.apart)
		json_array_append_new(by, json_string("time"));
	only.qpn = only.peer_qpn = QPN_UNKNOWN;
	*only.local = *only.peer = '\0';
	if (fit(conversation, here, &only) > 0)
		json_array_append_new(by, json_string("how its requests ended"));
	return by;
}

/* A finding of the report as it is shown: never certain where time gives a reason for doubt. */
static json_t *part_of(const json_t *finding, const char *doubt)
{
	static const char *const keys[] = {"title", "detail", "certainty", "meaning", "next"};
	const char *certain = rd_certainty_name(RD_CERTAIN);
	json_t *part = json_object(), *doubts = json_copy(json_object_get(finding, "doubts"));

	for (size_t k = 0; k < RD_COUNT(keys); k++)
		json_object_set(part, keys[k], json_object_get(finding, keys[k]));
	if (*doubt && strcmp(rd_json_text_of(finding, "certainty"), certain) == 0)
		json_object_set_new(part, "certainty", json_string(rd_certainty_name(RD_LIKELY)));
	if (*doubt && !doubts)
		doubts = json_array();
	if (*doubt)
		json_array_append_new(doubts, json_string(doubt));
	if (doubts)
		json_object_set_new(part, "doubts", doubts);
	return part;
}

/* What the report says about a conversation, and about the link of all. The number of a queue pair
 * may be used again there. */
static json_t *happened(
	const struct search *s, const json_t *report, json_int_t id, const char *doubt)
{
	static const char *const again = "it was after the line";
	const uint64_t start = rd_json_u64_value(json_object_get(report, "start_ns"));
	json_t *list = json_array(), *finding;
	size_t i;

	json_array_foreach (json_object_get(report, "findings"), i, finding) {
		const json_t *first = json_object_get(finding, "first_ns");
		const uint64_t at = start + rd_json_u64_value(first);
		const bool is_later = json_is_integer(first) && span_of(s, at, at).apart > 0;

		if (json_integer_value(json_object_get(finding, "conversation")) == id ||
			strcmp(rd_json_text_of(finding, "rule"), "link-down") == 0)
			json_array_append_new(
				list, part_of(finding, *doubt || !is_later ? doubt : again));
	}
	return list;
}

static json_t *time_of(const struct search *s, struct span pair)
{
	return s->line ? json_pack("{s:o, s:o, s:o}", "line_ns", rd_json_u64(s->line), "first_ns",
				 rd_json_u64(pair.from), "last_ns", rd_json_u64(pair.until))
		       : json_null();
}

static json_t *describe(const struct search *s, const json_t *report, size_t capture,
	const json_t *conversation, unsigned int here, struct span pair)
{
	json_t *side = json_object_get(json_object_get(conversation, "sides"), sides[here]),
	       *verdict = json_object_get(json_object_get(report, "verdict"), "text");
	char doubt[256];

	doubt_of(s, span_of_capture(s, report), pair, doubt, sizeof(doubt));
	return json_pack("{s:I, s:o, s:O, s:O, s:O?, s:O?, s:o, s:s, s:o, s:O?}", "capture",
		(json_int_t)capture, "by", common_of(conversation, here, s, pair), "here",
		json_object_get(conversation, sides[here]), "peer",
		json_object_get(conversation, sides[!here]), "ending",
		json_object_get(side, "ending"), "refused", json_object_get(side, "refused"),
		"time", time_of(s, pair), "doubt", doubt, "happened",
		happened(s, report, json_integer_value(json_object_get(conversation, "id")), doubt),
		"verdict", *doubt ? NULL : verdict);
}

/* The QP of an end that got no packet is not known to all captures. */
static bool is_same_end(const json_t *end, const json_t *other)
{
	const json_t *qp = json_object_get(end, "qp"), *same = json_object_get(other, "qp");

	return json_equal(json_object_get(end, "address"), json_object_get(other, "address")) &&
	       (!json_is_integer(qp) || !json_is_integer(same) || json_equal(qp, same));
}

/* The first one gets the owner if only the other knows it. */
static void join_end(json_t *end, json_t *other)
{
	if (json_is_integer(json_object_get(other, "qp")) &&
		!json_is_object(json_object_get(end, "owner")))
		json_object_update(end, other);
}

/* Two captures show the same queue pairs: their findings are joined. True if it was there. */
static bool merge(json_t *found, const json_t *more)
{
	json_t *one, *finding, *old;
	size_t i, k, n;

	json_array_foreach (found, i, one) {
		json_t *here = json_object_get(one, "here"), *peer = json_object_get(one, "peer");

		if (!is_same_end(here, json_object_get(more, "here")) ||
			!is_same_end(peer, json_object_get(more, "peer")))
			continue;
		join_end(here, json_object_get(more, "here"));
		join_end(peer, json_object_get(more, "peer"));
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

/* The smaller, the more likely in time: what began after the line least of all. */
static uint64_t distance_of(struct span pair)
{
	return pair.apart > 0 ? (uint64_t)INT64_MAX + (uint64_t)pair.apart : (uint64_t)-pair.apart;
}

/* Whether it fits at least as well as the best ones so far, which are forgotten if it is better. */
static bool is_best(struct search *s, int score, uint64_t distance)
{
	const bool is_better = score > s->best || (score == s->best && distance < s->distance);

	if (score <= 0 || (!is_better && (score < s->best || distance > s->distance)))
		return false;
	if (is_better) {
		json_array_clear(s->found);
		s->best = score;
		s->distance = distance;
		s->fits = 0;
	}
	return true;
}

/* Keeps the best ones. */
static void search(struct search *s, const json_t *report, size_t capture)
{
	json_t *conversation, *one;
	size_t i;

	json_array_foreach (json_object_get(report, "conversations"), i, conversation) {
		const struct span pair = span_of_pair(s, report, conversation);

		for (unsigned int here = 0; here < 2; here++) {
			int score = fit(conversation, here, s->r);

			if (score > 0 && s->line && !pair.apart)
				score += BY_TIME;
			if (!is_best(s, score, distance_of(pair)))
				continue;
			one = describe(s, report, capture, conversation, here, pair);
			if (!merge(s->found, one) && ++s->fits <= JOINED_MAX)
				json_array_append(s->found, one);
			json_decref(one);
		}
	}
}

/* What the capture of the other end has of those found, whether or not it fits as well. */
static void add_other_end(struct search *s, const json_t *report, size_t capture)
{
	json_t *conversation, *one, *more;
	size_t i, k;

	json_array_foreach (s->found, k, one) {
		json_array_foreach (json_object_get(report, "conversations"), i, conversation) {
			const json_t *end = json_object_get(one, "here");
			const bool here =
				!is_same_end(end, json_object_get(conversation, sides[0]));

			/* merge() compares the peer, too. */
			if (here && !is_same_end(end, json_object_get(conversation, sides[1])))
				continue;
			more = describe(s, report, capture, conversation, here,
				span_of_pair(s, report, conversation));
			merge(s->found, more);
			json_decref(more);
		}
	}
}

/* What both captures show together of the packets of this QP pair comes first. */
static void add_of_both(json_t *one, const json_t *ends)
{
	static const char *const keys[] = {"here", "peer"};
	json_t *happened = json_object_get(one, "happened"), *finding;
	size_t i, n = 0;

	json_array_foreach (json_object_get(ends, "findings"), i, finding) {
		for (unsigned int k = 0; k < 2; k++) {
			const json_t *from = json_object_get(one, keys[k]),
				     *to = json_object_get(one, keys[!k]);
			char where[256];

			snprintf(where, sizeof(where), "%s -> %s QP 0x%llx",
				rd_json_text_of(from, "address"), rd_json_text_of(to, "address"),
				(unsigned long long)rd_json_u64_value(json_object_get(to, "qp")));
			if (strcmp(rd_json_text_of(finding, "where"), where) == 0)
				json_array_insert_new(happened, n++,
					part_of(finding, rd_json_text_of(one, "doubt")));
		}
	}
}

/* Which counters of which port grew while the file was captured. */
static void add_counters(json_t *list, const json_t *report, size_t capture)
{
	json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(report, "findings"), i, finding) {
		if (json_is_string(json_object_get(finding, "counter")))
			json_array_append_new(
				list, json_pack("{s:I, s:O, s:O}", "capture", (json_int_t)capture,
					      "where", json_object_get(finding, "where"), "title",
					      json_object_get(finding, "title")));
	}
}

json_t *join_find(const json_t *report, const struct reading *r)
{
	json_t *captures = json_object_get(report, "captures"), *one,
	       *ends = json_object_get(report, "ends"), *pair;
	const json_t *pairs = json_object_get(report, "pairs");
	json_t *counters = json_array();
	struct search s = {.r = r, .found = json_array()};
	size_t i, k;

	s.line = prefix_time(
		r->time, rd_json_u64_value(json_object_get(report, "start_ns")), &s.zoned);
	if (!captures)
		search(&s, report, 0);
	add_counters(counters, report, 0);
	json_array_foreach (captures, i, one) {
		search(&s, one, i);
		add_counters(counters, one, i);
	}
	json_array_foreach (ends || pairs ? captures : NULL, i, one) {
		add_other_end(&s, one, i);
	}
	json_array_foreach (s.found, i, one) {
		json_object_set_new(one, "fits", rd_json_u64(s.fits));
		json_object_set(one, "counters", counters);
		add_of_both(one, ends);
		json_array_foreach (pairs, k, pair) {
			add_of_both(one, json_object_get(pair, "ends"));
		}
		if (ends && !*rd_json_text_of(one, "doubt"))
			json_object_set(one, "verdict",
				json_object_get(json_object_get(ends, "verdict"), "text"));
	}
	json_decref(counters);
	return s.found;
}
