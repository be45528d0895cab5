/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Captures at several points as JSON: docs/schema/analyze-points.json. */
#include "output.h"
#include <errno.h>
#include <rdmadump/document.h>
#include <rdmadump/json.h>
#include <rdmadump/points.h>
#include <stdlib.h>
#include <string.h>

/* --- rows ------------------------------------------------------------------------------------- */

#define RD_THIS struct rd_judgement
static const struct rd_field brief_fields[] = {
	{"label", "the word in front of it in the text", RD_TEXT(label)},
	{"what", "a row's text", RD_TEXT_OR(row[RD_ROW_WHAT])},
	{"rule", "null: no fault was found", RD_TEXT_OR(rule)},
	{"severity", NULL, RD_NAME(severity, rd_severity_name), RD_IF(rule)},
	{"certainty", NULL, RD_NAME(certainty, rd_certainty_name), RD_IF(rule)},
};
static const struct rd_shape brief_shape = {NULL, NULL, RD_FIELDS(brief_fields)};
#undef RD_THIS

#define RD_THIS struct rd_points_verdict
static const struct rd_field verdict_fields[] = {
	{"pair", "index in pairs", RD_KNOWN(pair)},
	{"capture", "index in captures, of one that is in no pair", RD_KNOWN(capture)},
	{"verdict", "the whole is in the report of that pair or capture",
		RD_POINTER(of, brief_shape)},
};
static const struct rd_shape point_verdict_shape = {"point_verdict",
	"On a pair of captures with the same packets, or on a capture that is in no pair.",
	RD_FIELDS(verdict_fields)};
#undef RD_THIS

#define RD_THIS struct rd_points_pair
static json_t *captures(const struct rd_at *at)
{
	const RD_THIS *pair = at->object;

	return json_pack(
		"[I, I]", (json_int_t)pair->capture[RD_TAP_A], (json_int_t)pair->capture[RD_TAP_B]);
}

/* The first frame of capture A. */
static uint64_t start_of(const struct rd_points *p, const RD_THIS *pair)
{
	return pair->ends->start_ns - p->captures[pair->capture[RD_TAP_A]].report->totals.moved_ns;
}

static json_t *pair_start(const struct rd_at *at)
{
	return json_integer((json_int_t)start_of(at->up->object, at->object));
}

static const struct rd_field pair_fields[] = {
	{"captures", "indexes in captures: A and B",
		RD_MADE(captures, RD_TYPE_LIST(RD_TYPE_UINT) ", 'minItems': 2, 'maxItems': 2")},
	{"start_ns", "A's first frame; nanoseconds since the Unix epoch",
		RD_MADE(pair_start, RD_TYPE_INT)},
	{"ends", NULL, RD_MADE(json_nothing_yet, "'$ref': 'analyze-ends.json#/properties/ends'")},
};
static const struct rd_shape pair_shape = {NULL, NULL, RD_FIELDS(pair_fields)};
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

/* Of the worst verdict: its times are relative to it. */
static uint64_t start_of_all(const RD_THIS *p)
{
	const struct rd_points_verdict *v = p->verdicts;
	const struct rd_totals *t;

	if (v->pair < p->n_pairs)
		return start_of(p, &p->pairs[v->pair]);
	t = &p->captures[v->capture].report->totals;
	return t->first_ns - t->moved_ns;
}

static const struct rd_field points_fields[] = {
	{"verdict", "the worst one", RD_MADE(worst, "'$ref': 'analyze.json#/properties/verdict'")},
	{"verdicts", "worst first", RD_LIST(verdicts, n_verdicts, point_verdict_shape)},
	{"pairs", "captures with the same packets, in the order of captures",
		RD_MADE_LIST(json_nothing_yet, pair_shape)},
	{"captures", "in the order of the names of their first files",
		RD_MADE(json_nothing_yet, RD_TYPE_LIST("'$ref': 'analyze.json'"))},
};
const struct rd_shape points_shape = {NULL,
	"Version 1. Keys are only added within a version. Times in \"ends\" of a pair are "
	"nanoseconds of A's clock since start_ns of the pair.",
	RD_FIELDS(points_fields)};
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
	const struct rd_at up = {.object = p};
	json_t *pair = rd_shape_part(&pair_shape, &p->pairs[i], &up),
	       *ends = rd_ends_json(p->pairs[i].ends);
	int ret;

	json_object_del(pair, "ends");
	ret = put_open(pair, out);
	fputs(",\"ends\":", out);
	if (!ret && ends)
		ret = json_dumpf(ends, out, flags);
	else
		ret = -1;
	json_decref(ends);
	return ret || fputc('}', out) < 0 ? -1 : 0;
}

/* Only one pair or conversation at a time is a tree. */
int rd_points_json_write(const struct rd_points *p, size_t flags, FILE *out)
{
	json_t *head = rd_document(RD_POINTS_VERSION, start_of_all(p),
		rd_shape_json(&points_shape, &(struct rd_at){.object = p}));
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
