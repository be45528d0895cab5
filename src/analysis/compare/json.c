/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The differences of two analyses as JSON: docs/schema/analyze-compare.json. */
#include "compare.h"
#include <math.h>
#include <rdmadump/document.h>
#include <rdmadump/json.h>

#define RD_THIS struct rd_snapshot
static json_t *start(const struct rd_at *at)
{
	const struct rd_snapshot *s = at->object;

	return s->start_ns ? json_integer((json_int_t)s->start_ns) : json_null();
}

static json_t *duration(const struct rd_at *at)
{
	return rd_json_seconds((int64_t)((const RD_THIS *)at->object)->duration_ns);
}

static const struct rd_field snapshot_fields[] = {
	{"start_ns", "the first frame; nanoseconds since the Unix epoch",
		RD_MADE(start, RD_TYPE_INT_OR)},
	{"duration_s", NULL, RD_MADE(duration, "'type': 'number', 'minimum': 0")},
	{"frames", NULL, RD_UINT(frames)},
	{"conversations", "in the report", RD_UINT(conversations)},
	{"conversations_left_out", "by --top", RD_UINT(left_out)},
	{"findings_left_out",
		"only counted in the report, or of conversations that it does not list",
		RD_UINT(findings_left_out)},
};
static const struct rd_shape snapshot_shape = {"snapshot", NULL, RD_FIELDS(snapshot_fields)};
#undef RD_THIS

/* --- findings --------------------------------------------------------------------------------- */

#define RD_THIS struct found
static const char *severity_name(unsigned int severity)
{
	return rd_severity_name((enum rd_severity)severity);
}

static const char *certainty_name(unsigned int certainty)
{
	return rd_certainty_name((enum rd_certainty)certainty);
}

static const struct rd_field found_fields[] = {
	{"severity", NULL, RD_NAME(severity, severity_name),
		.schema = "'enum': ['note', 'warning', 'problem']"},
	{"certainty", NULL, RD_NAME(certainty, certainty_name)},
	{"count", "how often, of all of them", RD_UINT(count)},
	{"findings", "of QPs between the same addresses, or at one place", RD_UINT(n)},
};
static const struct rd_shape found_shape = {
	"found", NULL, RD_FIELDS(found_fields), .nullable = true};

#undef RD_THIS

#define RD_THIS struct found_change
static json_t *finding_status(const struct rd_at *at)
{
	const struct found_change *f = at->object;

	return json_string(!f->before	? "new"
			   : !f->after	? "gone"
			   : f->changed ? "changed"
					: "same");
}

static const struct found *present(const struct rd_at *at)
{
	const struct found_change *f = at->object;

	return f->after ? f->after : f->before;
}

static json_t *finding_text(const struct rd_at *at)
{
	return rd_json_string((const char *)present(at) + at->which);
}

static json_t *finding_place(const struct rd_at *at)
{
	return rd_json_text((const char *)present(at) + at->which);
}

static json_t *by_rule(const struct rd_at *at)
{
	return json_boolean(present(at)->by_rule);
}

#define FOUND(make, type, member) RD_MADE(make, type), .which = offsetof(struct found, member)

static const struct rd_field finding_fields[] = {
	{"status", NULL, RD_MADE(finding_status, "'enum': ['new', 'gone', 'changed', 'same']")},
	{"rule", NULL, FOUND(finding_text, RD_TYPE_TEXT, rule)},
	{"title", NULL, FOUND(finding_text, RD_TYPE_TEXT, title)},
	{"from", NULL, FOUND(finding_place, RD_TYPE_TEXT_OR, from)},
	{"to", NULL, FOUND(finding_place, RD_TYPE_TEXT_OR, to)},
	{"where", "if it is of no conversation", FOUND(finding_place, RD_TYPE_TEXT_OR, where)},
	{"by_rule",
		"true: all findings of the rule as one, without a place, since a report has only a "
		"part of them",
		RD_MADE(by_rule, "'type': 'boolean'")},
	{"before", NULL, RD_POINTER(before, found_shape)},
	{"after", NULL, RD_POINTER(after, found_shape)},
};
static const struct rd_shape finding_shape = {"finding", NULL, RD_FIELDS(finding_fields)};
#undef RD_THIS

/* --- traffic ---------------------------------------------------------------------------------- */

#define RD_THIS struct value
static json_t *number(const struct rd_at *at)
{
	const struct value *v = at->object;
	const double x = at->which ? v->after : v->before;

	return isnan(x) ? json_null() : json_real(x);
}

static json_t *verdict(const struct rd_at *at)
{
	const int change = ((const RD_THIS *)at->object)->change;

	return change ? json_string(change > 0 ? "better" : "worse") : json_null();
}

static const struct rd_field value_fields[] = {
	{"before", NULL, RD_MADE(number, "'type': ['number', 'null']")},
	{"after", NULL, RD_MADE(number, "'type': ['number', 'null']"), .which = 1},
	{"change", "null: as before, or unknown, or measured too rarely",
		RD_MADE(verdict, "'enum': ['better', 'worse', null]")},
};
static const struct rd_shape value_shape = {"value", NULL, RD_FIELDS(value_fields)};
#undef RD_THIS

#define RD_THIS struct change
static json_t *value(const struct rd_at *at)
{
	const struct change *c = at->object;
	const struct value v = metric_value(at->which, &c->before, &c->after);

	return rd_shape_part(&value_shape, &v, at);
}

#define METRIC_FIELD(name, key, ...)                                                               \
	{key, NULL, RD_MADE_OF(value, value_shape), .which = METRIC_##name},
static const struct rd_field values_fields[] = {
	METRIC_ROWS(METRIC_FIELD, METRIC_FIELD, METRIC_FIELD)};
static const struct rd_shape values_shape = {NULL, NULL, RD_FIELDS(values_fields)};

static json_t *status(const struct rd_at *at)
{
	return json_string(change_status(at->object));
}

static json_t *stream_text(const struct rd_at *at)
{
	return rd_json_string((const char *)((const RD_THIS *)at->object)->like + at->which);
}

static json_t *stream_word(const struct rd_at *at)
{
	return rd_json_text((const char *)((const RD_THIS *)at->object)->like + at->which);
}

static json_t *qp(const struct rd_at *at)
{
	const struct change *c = at->object;
	const uint32_t qp = at->which ? c->like->to_qp : c->like->from_qp;

	return c->same_qps && qp != RD_QP_UNKNOWN ? rd_json_u64(qp) : json_null();
}

#define STREAM(make, type, member) RD_MADE(make, type), .which = offsetof(struct stream, member)

static const struct rd_field stream_fields[] = {
	{"status", "unknown: the former report may have left it out (--top)",
		RD_MADE(status, "'enum': ['new', 'gone', 'changed', 'same', 'unknown']")},
	{"from", NULL, STREAM(stream_text, RD_TYPE_TEXT, from)},
	{"from_qp", "null: all QPs of the verb and service between these addresses",
		RD_MADE(qp, RD_TYPE_UINT_OR)},
	{"to", NULL, STREAM(stream_text, RD_TYPE_TEXT, to)},
	{"to_qp", NULL, RD_MADE(qp, RD_TYPE_UINT_OR), .which = 1},
	{"transport", NULL, STREAM(stream_text, RD_TYPE_TEXT, transport)},
	{"verb", "with most bytes", STREAM(stream_word, RD_TYPE_TEXT_OR, verb)},
	{"service_id", NULL, STREAM(stream_word, RD_TYPE_TEXT_OR, service)},
	{"qps_before", NULL, RD_UINT(before.qps)},
	{"qps_after", NULL, RD_UINT(after.qps)},
	{"values", NULL, RD_VIEW(values_shape)},
};
static const struct rd_shape stream_shape = {
	"traffic", "Requests in one direction.", RD_FIELDS(stream_fields)};
#undef RD_THIS

/* --- the document ----------------------------------------------------------------------------- */

#define RD_THIS struct comparison
struct comparison {
	struct rd_changes changes;
	const char *name;
};

static const struct rd_field changes_fields[] = {
	{"compared_with", NULL, RD_TEXT(name)},
	{"before", NULL, RD_POINTER(changes.before, snapshot_shape)},
	{"after", NULL, RD_POINTER(changes.after, snapshot_shape)},
	{"findings", NULL, RD_LIST(changes.found, changes.n_found, finding_shape)},
	{"traffic", NULL, RD_LIST(changes.streams, changes.n_streams, stream_shape)},
};
const struct rd_shape changes_shape = {NULL,
	"Version 2. Keys are only added within a version. Shares are per cent of request packets, "
	"ecn_ce of frames.",
	RD_FIELDS(changes_fields)};

json_t *rd_changes_json(const struct rd_changes *c, const char *name)
{
	const struct comparison whole = {*c, name};

	return rd_document(RD_CHANGES_VERSION, 0,
		rd_shape_json(&changes_shape, &(struct rd_at){.object = &whole}));
}
