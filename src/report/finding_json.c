/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A finding as JSON: one object, the same in all documents. */
#include <rdmadump/finding.h>
#include <rdmadump/json.h>

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

/* Clocks may go backwards, so a time may lie before the origin. */
static json_t *since(uint64_t ns, uint64_t origin_ns)
{
	return ns ? json_integer((json_int_t)(ns - origin_ns)) : json_null();
}

static json_t *doubts(const struct rd_finding *f)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < RD_DOUBTS && f->doubts[i]; i++)
		json_array_append_new(array, json_string(f->doubts[i]));
	return array;
}

json_t *rd_finding_json(const struct rd_finding *f, uint64_t origin_ns)
{
	const struct rd_evidence *e = &f->evidence;
	json_t *o = json_object(), *frames = json_array();

	for (unsigned int i = 0; i < e->n_frames; i++)
		json_array_append_new(frames, rd_json_u64(e->frames[i]));
	set(o, "rule", rd_json_string(f->rule));
	set(o, "severity", json_string(rd_severity_name(f->severity)));
	set(o, "certainty", json_string(rd_certainty_name(f->certainty)));
	if (*f->doubts)
		set(o, "doubts", doubts(f));
	set(o, "where", rd_json_string(f->where));
	set(o, "counter", rd_json_string(f->counter));
	set(o, "conversation", rd_json_u64_or_null(f->conversation));
	set(o, "side", f->conversation ? json_string(f->side ? "b" : "a") : json_null());
	set(o, "title", rd_json_string(f->title));
	set(o, "detail", rd_json_string(f->detail));
	set(o, "meaning", rd_json_string(f->meaning));
	set(o, "next", rd_json_string(f->next));
	set(o, "filter", rd_json_string(e->filter));
	set(o, "count", rd_json_u64(e->count));
	set(o, "first_ns", since(e->first_ns, origin_ns));
	set(o, "last_ns", since(e->last_ns, origin_ns));
	set(o, "frames", frames);
	return o;
}

json_t *rd_findings_json(const struct rd_findings *list, uint64_t origin_ns)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(array, rd_finding_json(&list->finding[i], origin_ns));
	return array;
}
