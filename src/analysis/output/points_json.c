/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Captures at several points as JSON: docs/schema/analyze-points.json. */
#include "layout.h"
#include "output.h"
#include <errno.h>
#include <rdmadump/document.h>
#include <rdmadump/json.h>
#include <rdmadump/points.h>
#include <stdlib.h>

/* --- rows ------------------------------------------------------------------------------------- */

#define RD_THIS struct rd_judgement
static const struct rd_shape brief_shape =
	RD_SHAPE(NULL, NULL, {"label", "the word in front of it in the text", RD_TEXT(label)},
		{"what", "a row's text", RD_TEXT_OR(row[RD_ROW_WHAT])},
		{"rule", "null: no fault was found", RD_TEXT_OR(rule)},
		{"severity", NULL, RD_NAME(severity, rd_severity_name), RD_IF(rule)},
		{"certainty", NULL, RD_NAME(certainty, rd_certainty_name), RD_IF(rule)},
		{"sender_owner", "of the QP that the worst finding is about",
			RD_POINTER(owner[0], owner_shape)},
		{"receiver_owner", "... of its peer", RD_POINTER(owner[1], owner_shape)});
#undef RD_THIS

#define RD_THIS struct rd_points_verdict
static const struct rd_shape point_verdict_shape = RD_SHAPE("point_verdict",
	"On a pair of captures with the same packets, or on a capture that is in no pair.",
	{"pair", "index in pairs", RD_KNOWN(pair)},
	{"capture", "index in captures, of one that is in no pair", RD_KNOWN(capture)},
	{"better_pair",
		"index in pairs: the verdict rests on one capture of its pair, and this other pair "
		"has the same packets at both ends, or says the same",
		RD_KNOWN(better)},
	{"verdict", "the whole is in the report of that pair or capture",
		RD_POINTER(of, brief_shape)});
#undef RD_THIS

#define RD_THIS struct rd_points_pair
static json_t *captures(const struct rd_at *at)
{
	const RD_THIS *pair = at->object;

	return json_pack(
		"[I, I]", (json_int_t)pair->capture[RD_TAP_A], (json_int_t)pair->capture[RD_TAP_B]);
}

static json_t *pair_start(const struct rd_at *at)
{
	const struct rd_points *p = at->up->object;
	const RD_THIS *pair = at->object;
	const struct rd_report *a = p->captures[pair->capture[RD_TAP_A]].report;

	return json_integer((json_int_t)(pair->ends->start_ns - a->totals.moved_ns));
}

static const struct rd_shape pair_shape = RD_SHAPE(NULL, NULL,
	{"captures", "indexes in captures: A and B",
		RD_MADE(captures, RD_TYPE_LIST(RD_TYPE_UINT) ", 'minItems': 2, 'maxItems': 2")},
	{"start_ns", "A's first frame; nanoseconds since the Unix epoch",
		RD_MADE(pair_start, RD_TYPE_INT)},
	{"ends", NULL, RD_MADE(json_nothing_yet, "'$ref': 'analyze-ends.json#/properties/ends'")});
#undef RD_THIS

#define RD_THIS struct rd_points_program
static json_t *program_name(const struct rd_at *at)
{
	const RD_THIS *program = at->object;
	const struct rd_owner *who = program->owner->who;
	const char *text = at->which ? rd_owner_job(who) : who->comm;

	return text ? rd_json_string(text) : json_null();
}

static json_t *ranks(const struct rd_at *at)
{
	const RD_THIS *program = at->object;
	json_t *list = json_array();
	uint32_t last = UINT32_MAX;

	for (size_t i = 0; i < program->n_owners; i++) {
		const uint32_t rank = program->owner[i].who->rank;

		if (rank != last && rank != UINT32_MAX)
			json_array_append_new(list, json_integer(rank));
		last = rank;
	}
	return list;
}

static const struct rd_shape program_shape = RD_SHAPE(NULL, NULL,
	{"comm", "the command, or the kernel's module; empty: not known",
		RD_MADE(program_name, RD_TYPE_TEXT)},
	{"slurm_job", NULL, RD_MADE(program_name, RD_TYPE_TEXT_OR), .which = 1},
	{"processes", NULL, RD_UINT(n_processes)},
	{"ranks", "of those whose rank is known", RD_MADE(ranks, RD_TYPE_LIST(RD_TYPE_UINT))});
#undef RD_THIS

#define RD_THIS struct rd_points_host
static json_t *programs(const struct rd_at *at)
{
	const struct rd_points *p = at->up->object;
	const RD_THIS *h = at->object;

	return RD_JSON_LIST(program, p->programs, p->n_programs,
		&p->hosts[program->host] == h ? rd_shape_part(&program_shape, program, at) : NULL);
}

static json_t *host_name(const struct rd_points *p, uint32_t host)
{
	return rd_json_string(p->addresses[p->hosts[host].address]);
}

static json_t *addresses(const struct rd_at *at)
{
	const struct rd_points *p = at->up->object;
	const RD_THIS *h = at->object;
	json_t *list = json_array();

	for (size_t i = h->address; json_array_size(list) < h->n_addresses; i++)
		if (&p->hosts[p->host_of[i]] == h)
			json_array_append_new(list, rd_json_string(p->addresses[i]));
	return list;
}

static const struct rd_shape host_shape = RD_SHAPE(NULL, NULL,
	{"addresses",
		"of packets, and of one port by the facts of the files; one that no facts name is "
		"a host. The first one names it",
		RD_MADE(addresses, RD_TYPE_LIST(RD_TYPE_TEXT))},
	{"captured",
		"whether a capture is of it. yes: its file says so; likely: all packets of one are "
		"to it or from it; unknown: none is known to be; no: the facts of each file say "
		"whose it is; silent: as unknown or no, and no packet from it was captured",
		RD_NAME(captured, captured_name)},
	{"programs", "whose QPs it has, as far as the files know",
		RD_MADE_LIST(programs, program_shape)});
#undef RD_THIS

#define RD_THIS struct rd_points_path
static json_t *path_end(const struct rd_at *at)
{
	const RD_THIS *path = at->object;

	return host_name(at->up->object, at->which ? path->to : path->from);
}

static const struct rd_shape host_path_shape = RD_SHAPE("host_path",
	"From one host to another: of each pair of addresses the most that one capture, or pair of "
	"captures, shows.",
	{"from", "name of the host", RD_MADE(path_end, RD_TYPE_TEXT)},
	{"to", NULL, RD_MADE(path_end, RD_TYPE_TEXT), .which = 1},
	{"packets", NULL, RD_UINT(count[RD_POINTS_PACKETS])},
	{"lost", "between two captures; null: no pair of captures shows it",
		RD_UINT(count[RD_POINTS_LOST]), RD_IF(lost_known)},
	{"retransmitted", "request packets", RD_UINT(count[RD_POINTS_RETRANSMITTED])},
	{"pauses", "gaps in its frames that fit pause frames", RD_UINT(count[RD_POINTS_PAUSES])},
	{"paused_ns", "their time", RD_UINT(count[RD_POINTS_PAUSED_NS])},
	{"latency",
		"of responses to its requests, in the conversation with the largest p99; n 0: none",
		RD_OBJECT(latency, latency_shape)});
#undef RD_THIS

#define RD_THIS struct rd_points_common
static json_t *place(const struct rd_at *at)
{
	return rd_json_string(rd_points_place(at->up->object));
}

static const struct rd_shape common_shape = {NULL,
	"Where most faulty paths end or begin, but not as many of the others. Counts of paths "
	"between hosts, or between addresses; null: there is no such place.",
	RD_ROWS({"place", "name of the host, or one of its addresses",
			RD_MADE(place, RD_TYPE_TEXT)},
		{"is_address", "one of several of its host", RD_BOOL(address)},
		{"side", "which end of the paths it is", RD_NAME(end, end_name)},
		{"slow",
			"nothing was lost or retransmitted: faulty paths are those with slow "
			"responses",
			RD_BOOL(slow)},
		{"faulty",
			"paths that it is an end of, with lost or retransmitted packets, or with a "
			"median response four times that of the median path",
			RD_UINT(faulty)},
		{"of_faulty", "... of all such paths", RD_UINT(of_faulty)},
		{"others", "other paths that it is an end of", RD_UINT(others)},
		RD_SAME(UINT, of_others),
		{"owner", "the only process with QPs there; null: there are others, or not known",
			RD_POINTER(owner, owner_shape)}),
	RD_IF(faulty)};
#undef RD_THIS

#define RD_THIS struct rd_points_clock
static const struct rd_shape point_clock_shape = RD_SHAPE("point_clock",
	"How far the clock of a capture is ahead, by pairs whose clocks can be compared.",
	{"capture", "index in captures", RD_UINT(capture)},
	{"offset_ns",
		"its clock minus that of the first one of the list, at that one's first frame",
		RD_SIGNED(offset_ns)},
	{"error_ns", "the largest error of the offset, whatever the delays were",
		RD_UINT(error_ns)});
#undef RD_THIS

#define RD_THIS struct rd_points_straggler
static json_t *straggler_name(const struct rd_at *at)
{
	const struct rd_points *p = at->up->object;

	return rd_json_string(p->addresses[((const RD_THIS *)at->object)->address]);
}

static const struct rd_shape straggler_shape = {NULL,
	"Possibly what the others wait for: of all that exchange messages, it begins them far "
	"later than any other, for a part of the time. null: no such address, or packets were "
	"lost, retransmitted or paused, or responses slow.",
	RD_ROWS({"address", NULL, RD_MADE(straggler_name, RD_TYPE_TEXT)},
		{"of", "addresses that were compared", RD_UINT(of)},
		{"messages", "that it began although the peer's of the same number was there",
			RD_UINT(late.n)},
		{"late_ns", "their times since the last frame to it", RD_UINT(late.ns)},
		{"max_ns", NULL, RD_UINT(late.max_ns)},
		{"next_ns", "late_ns of the next address", RD_UINT(next_ns)},
		{"owner", "as in common", RD_POINTER(owner, owner_shape)}),
	RD_IF(of)};
#undef RD_THIS

#define RD_THIS struct rd_points
static json_t *worst(const struct rd_at *at)
{
	const RD_THIS *p = at->object;
	const struct rd_points_verdict *v = p->verdicts;

	if (v->pair < p->n_pairs)
		return ends_verdict_json(p->pairs[v->pair].ends);
	return rd_shape_json(&verdict_shape,
		&(struct rd_at){.object = v->of,
			.start_ns = p->captures[v->capture].report->totals.first_ns});
}

const struct rd_shape points_shape = RD_SHAPE(NULL,
	"Version 1. Keys are only added within a version. Times in \"ends\" of a pair are "
	"nanoseconds of A's clock since start_ns of the pair.",
	{"verdict", "the worst one, with times since start_ns of its pair or capture",
		RD_MADE(worst, "'$ref': 'analyze.json#/properties/verdict'")},
	{"verdicts", "worst first", RD_LIST(verdicts, n_verdicts, point_verdict_shape)},
	{"hosts", NULL, RD_LIST(hosts, n_hosts, host_shape)},
	{"paths", "worst first: by lost, retransmitted, paused_ns, latency",
		RD_LIST(paths, n_paths, host_path_shape)},
	{"common", NULL, RD_OBJECT(common, common_shape)},
	{"clocks", "of captures that this is known of",
		RD_LIST(clocks, n_clocks, point_clock_shape)},
	{"straggler", NULL, RD_OBJECT(straggler, straggler_shape)},
	{"pairs", "captures with the same packets, in the order of captures",
		RD_MADE_LIST(json_nothing_yet, pair_shape)},
	{"captures", "in the order of the names of their first files",
		RD_MADE(json_nothing_yet, RD_TYPE_LIST("'$ref': 'analyze.json'"))});
#undef RD_THIS

/* --- writing ---------------------------------------------------------------------------------- */

/* The object without its end, so that members can follow. Consumes it. */
static int put_open(json_t *object, FILE *out)
{
	char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	if (!text) {
		errno = ENOMEM;
		return -1;
	}
	fprintf(out, "%.*s", (int)strlen(text) - 1, text);
	free(text);
	return 0;
}

static int put_pair(const struct rd_points *p, size_t i, size_t flags, FILE *out)
{
	json_t *pair = rd_shape_part(&pair_shape, &p->pairs[i], &(struct rd_at){.object = p});
	const int ret = json_object_set_new(pair, "ends", rd_ends_json(p->pairs[i].ends))
				? -1
				: json_dumpf(pair, out, flags);

	json_decref(pair);
	return ret;
}

/* Only one pair or conversation at a time is a tree. */
int rd_points_json_write(const struct rd_points *p, size_t flags, FILE *out)
{
	json_t *head = rd_document(
		RD_POINTS_VERSION, 0, rd_shape_json(&points_shape, &(struct rd_at){.object = p}));
	int ret;

	json_object_del(head, "pairs");
	json_object_del(head, "captures");
	ret = put_open(head, out);
	for (size_t i = 0; i < p->n_pairs && !ret; i++) {
		fputs(i ? ",\n" : ",\"pairs\":[", out);
		ret = put_pair(p, i, flags, out);
	}
	for (size_t i = 0; i < p->n_captures && !ret; i++) {
		fputs(i ? ",\n" : "],\"captures\":[", out);
		ret = rd_report_json_write(p->captures[i].report, flags, out);
	}
	return ret || fputs("]}", out) < 0 ? -1 : 0;
}

/* --- a page ----------------------------------------------------------------------------------- */

#define PAGE_REPORTS 8 /* shown in full: the worst */
#define PAGE_ROWS    2000

/* Returns how many are left out. */
static json_t *keep_first(json_t *list, size_t n)
{
	const size_t all = json_array_size(list);

	while (json_array_size(list) > n)
		json_array_remove(list, json_array_size(list) - 1);
	return json_integer((json_int_t)(all - json_array_size(list)));
}

static json_t *page_pair(const struct rd_points *p, const struct rd_points_verdict *v, bool whole,
	size_t bytes, size_t flags)
{
	const struct rd_points_pair *pair = &p->pairs[v->pair];

	return json_pack("{s:[I, I], s:o}", "captures", (json_int_t)pair->capture[RD_TAP_A],
		(json_int_t)pair->capture[RD_TAP_B], "ends",
		whole ? rd_ends_json_within(pair->ends, bytes, flags) : json_null());
}

static json_t *page_summary(const struct rd_points *p)
{
	static const struct rd_report_style wide = {.columns = 100000};
	char *text = NULL;
	size_t size;
	FILE *lines = open_memstream(&text, &size);
	json_t *summary;

	if (!lines)
		return NULL;
	points_found_text(p, &wide, lines);
	fclose(lines);
	summary = rd_json_string(text);
	free(text);
	return summary;
}

/* Pairs and captures that are not shown in full are null, or have no "ends". */
static int page_reports(const struct rd_points *p, json_t *page, size_t bytes, size_t flags)
{
	json_t *pairs = json_object(), *captures = json_object(), *names = json_array();
	char key[16];
	int ret = 0;

	for (size_t i = 0; i < p->n_captures; i++)
		ret |= json_array_append_new(names, rd_json_string(p->captures[i].name));
	for (size_t i = 0; i < p->n_verdicts && i < PAGE_ROWS; i++) {
		const struct rd_points_verdict *v = &p->verdicts[i];
		const bool whole = i < PAGE_REPORTS, pair = v->pair < p->n_pairs;
		const unsigned int *ends = pair ? p->pairs[v->pair].capture : &v->capture;

		if (pair) {
			snprintf(key, sizeof(key), "%u", v->pair);
			ret |= json_object_set_new(
				pairs, key, page_pair(p, v, whole, bytes / 2, flags));
		}
		for (int end = 0; whole && end < (pair ? RD_TAPS : 1); end++) {
			snprintf(key, sizeof(key), "%u", ends[end]);
			if (!json_object_get(captures, key))
				ret |= json_object_set_new(captures, key,
					rd_report_json_within(
						p->captures[ends[end]].report, bytes / 4, flags));
		}
	}
	return ret | json_object_set_new(page, "names", names) |
	       json_object_set_new(page, "pairs", pairs) |
	       json_object_set_new(page, "captures", captures);
}

json_t *rd_points_json_within(const struct rd_points *p, size_t bytes, size_t flags)
{
	json_t *page = rd_document(
		RD_POINTS_VERSION, 0, rd_shape_json(&points_shape, &(struct rd_at){.object = p}));
	int ret = json_object_set_new(
		page, "paths_left_out", keep_first(json_object_get(page, "paths"), PAGE_ROWS));

	ret |= json_object_set_new(page, "verdicts_left_out",
		keep_first(json_object_get(page, "verdicts"), PAGE_ROWS));
	ret |= json_object_set_new(page, "faults", json_integer((json_int_t)p->n_faults));
	ret |= json_object_set_new(page, "summary", page_summary(p));
	ret |= page_reports(p, page, bytes / PAGE_REPORTS, flags);
	if (!ret)
		return page;
	json_decref(page);
	return NULL;
}
