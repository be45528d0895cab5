/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The differences of two analyses as JSON: docs/schema/analyze-compare.json. */
#include "compare.h"
#include <math.h>
#include <rdmadump/document.h>
#include <rdmadump/json.h>

#define STATUS(more) "'enum': ['new', 'gone', 'changed', 'same'" more "]"

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

#define RD_THIS struct item
static const struct rd_field found_fields[] = {
	{"severity", NULL, RD_NAME(severity, rd_severity_name),
		.schema = "'enum': ['note', 'warning', 'problem']"},
	{"certainty", NULL, RD_NAME(certainty, rd_certainty_name)},
	{"count", "how often, of all of them", RD_UINT(n[N_COUNT])},
	{"findings", "of QPs between the same addresses, or at one place", RD_UINT(n[N_ITEMS])},
};
static const struct rd_shape found_shape = {
	"found", NULL, RD_FIELDS(found_fields), RD_IF(n[N_ITEMS])};

#undef RD_THIS

#define RD_THIS struct change
static json_t *key(const struct rd_at *at)
{
	return rd_json_string(item_text(&((const RD_THIS *)at->object)->shown, at->which));
}

static json_t *key_or_null(const struct rd_at *at)
{
	return rd_json_text(item_text(&((const RD_THIS *)at->object)->shown, at->which));
}

#define RD_KEY(name)	RD_MADE(key, RD_TYPE_TEXT), .which = KEY_##name
#define RD_KEY_OR(name) RD_MADE(key_or_null, RD_TYPE_TEXT_OR), .which = KEY_##name

static const struct rd_field finding_fields[] = {
	{"status", NULL, RD_TEXT(status), .schema = STATUS("")},
	{"rule", NULL, RD_KEY(RULE)},
	{"title", NULL, RD_KEY(TITLE)},
	{"from", NULL, RD_KEY_OR(FROM)},
	{"to", NULL, RD_KEY_OR(TO)},
	{"where", "if it is of no conversation", RD_KEY_OR(WHERE)},
	{"by_rule",
		"true: all findings of the rule as one, without a place, since a report has only a "
		"part of them",
		RD_BOOL(shown.partial)},
	{"before", NULL, RD_OBJECT(before, found_shape)},
	{"after", NULL, RD_OBJECT(after, found_shape)},
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
	const struct value v = metric_value(at->which, at->object);

	return rd_shape_part(&value_shape, &v, at);
}

#define METRIC_FIELD(name, key, ...)                                                               \
	{key, NULL, RD_MADE_OF(value, value_shape), .which = METRIC_##name},
static const struct rd_field values_fields[] = {METRIC_ROWS(METRIC_FIELD)};
static const struct rd_shape values_shape = {NULL, NULL, RD_FIELDS(values_fields)};

static json_t *qp(const struct rd_at *at)
{
	const struct change *c = at->object;
	const uint32_t number = item_qp(&c->shown, at->which);

	return c->level != BY_QPS || number == RD_QP_UNKNOWN ? json_null() : rd_json_u64(number);
}

static const struct rd_field stream_fields[] = {
	{"status", "unknown: the former report may have left it out (--top)", RD_TEXT(status),
		.schema = STATUS(", 'unknown'")},
	{"from", NULL, RD_KEY(FROM)},
	{"from_qp", "null: all QPs of the verb and service between these addresses",
		RD_MADE(qp, RD_TYPE_UINT_OR), .which = KEY_FROM_QP},
	{"to", NULL, RD_KEY(TO)},
	{"to_qp", NULL, RD_MADE(qp, RD_TYPE_UINT_OR), .which = KEY_TO_QP},
	{"transport", NULL, RD_KEY(TRANSPORT)},
	{"verb", "with most bytes", RD_KEY_OR(VERB)},
	{"service_id", NULL, RD_KEY_OR(SERVICE)},
	{"qps_before", NULL, RD_UINT(before.n[N_ITEMS])},
	{"qps_after", NULL, RD_UINT(after.n[N_ITEMS])},
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
	{"findings", NULL, RD_LIST(changes.found.change, changes.found.n, finding_shape)},
	{"traffic", NULL, RD_LIST(changes.streams.change, changes.streams.n, stream_shape)},
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
