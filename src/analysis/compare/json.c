/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The differences of two analyses as JSON: docs/schema/analyze-compare.json. */
#include "compare.h"
#include <math.h>
#include <rdmadump/document.h>
#include <rdmadump/json.h>

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *snapshot_json(const struct rd_snapshot *s)
{
	json_t *o = json_object();

	set(o, "start_ns", s->start_ns ? json_integer((json_int_t)s->start_ns) : json_null());
	set(o, "duration_s", rd_json_seconds((int64_t)s->duration_ns));
	set(o, "frames", rd_json_u64(s->frames));
	set(o, "conversations", rd_json_u64(s->conversations));
	set(o, "conversations_left_out", rd_json_u64(s->left_out));
	set(o, "findings_left_out", rd_json_u64(s->findings_left_out));
	return o;
}

static const char *status_of(const struct found_change *f)
{
	return !f->before ? "new" : !f->after ? "gone" : f->changed ? "changed" : "same";
}

static json_t *found_json(const struct found *f)
{
	json_t *o;

	if (!f)
		return json_null();
	o = json_object();
	set(o, "severity", json_string(rd_severity_name(f->severity)));
	set(o, "certainty", json_string(rd_certainty_name(f->certainty)));
	set(o, "count", rd_json_u64(f->count));
	set(o, "findings", rd_json_u64(f->n));
	return o;
}

static json_t *finding_json(const struct found_change *f)
{
	const struct found *x = f->after ? f->after : f->before;
	json_t *o = json_object();

	set(o, "status", json_string(status_of(f)));
	set(o, "rule", rd_json_string(x->rule));
	set(o, "title", rd_json_string(x->title));
	set(o, "from", rd_json_text(x->from));
	set(o, "to", rd_json_text(x->to));
	set(o, "where", rd_json_text(x->where));
	set(o, "by_rule", json_boolean(x->by_rule));
	set(o, "before", found_json(f->before));
	set(o, "after", found_json(f->after));
	return o;
}

static json_t *real(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static json_t *value_json(unsigned int metric, const struct change *c)
{
	const struct value v = metric_value(metric, &c->before, &c->after);

	return json_pack("{s:o, s:o, s:o}", "before", real(v.before), "after", real(v.after),
		"change", v.change ? json_string(v.change > 0 ? "better" : "worse") : json_null());
}

static json_t *qp_json(const struct change *c, uint32_t qp)
{
	return c->same_qps && qp != RD_QP_UNKNOWN ? rd_json_u64(qp) : json_null();
}

static json_t *stream_json(const struct change *c)
{
	static const char *const suffixes[] = {
		[UNIT_RATE] = "bps", [UNIT_SHARE] = "percent", [UNIT_TIME] = "ns"};
	const struct stream *x = c->like;
	json_t *o = json_object(), *values = json_object();
	char key[64];

	set(o, "status", json_string(change_status(c)));
	set(o, "from", rd_json_string(x->from));
	set(o, "from_qp", qp_json(c, x->from_qp));
	set(o, "to", rd_json_string(x->to));
	set(o, "to_qp", qp_json(c, x->to_qp));
	set(o, "transport", rd_json_string(x->transport));
	set(o, "verb", rd_json_text(x->verb));
	set(o, "service_id", rd_json_text(x->service));
	set(o, "qps_before", rd_json_u64(c->before.qps));
	set(o, "qps_after", rd_json_u64(c->after.qps));
	for (unsigned int i = 0; i < METRICS; i++) {
		snprintf(
			key, sizeof(key), "%s_%s", metric_of(i)->key, suffixes[metric_of(i)->unit]);
		set(values, key, value_json(i, c));
	}
	set(o, "values", values);
	return o;
}

json_t *rd_changes_json(const struct rd_changes *c, const char *name)
{
	json_t *o = rd_document(2, 0, json_object()), *findings = json_array(),
	       *traffic = json_array();

	for (size_t i = 0; i < c->n_found; i++)
		json_array_append_new(findings, finding_json(&c->found[i]));
	for (size_t i = 0; i < c->n_streams; i++)
		json_array_append_new(traffic, stream_json(&c->streams[i]));
	set(o, "compared_with", rd_json_string(name));
	set(o, "before", snapshot_json(c->before));
	set(o, "after", snapshot_json(c->after));
	set(o, "findings", findings);
	set(o, "traffic", traffic);
	return o;
}
