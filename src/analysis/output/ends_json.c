/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The comparison of two captures as JSON: "ends" of docs/schema/analyze.json. */
#include "output.h"
#include <rdmadump/ends.h>
#include <rdmadump/json.h>

static const char *const letters[RD_TAPS] = {"a", "b"};

static json_t *incident_json(const struct rd_incident *e, uint64_t start)
{
	json_t *o = json_object();

	json_object_set_new(o, "count", rd_json_u64(e->count));
	json_object_set_new(o, "first_frame", rd_json_u64(e->first_frame));
	json_object_set_new(o, "last_frame", rd_json_u64(e->last_frame));
	json_object_set_new(o, "first_ns", rd_json_u64(e->count ? e->first_ns - start : 0));
	json_object_set_new(o, "last_ns", rd_json_u64(e->count ? e->last_ns - start : 0));
	return o;
}

static json_t *qp_json(const struct rd_path_qp *w, uint64_t start)
{
	json_t *o = json_object();

	json_object_set_new(o, "qp", rd_json_u64(w->qp));
	json_object_set_new(o, "sent", rd_json_u64(w->sent));
	json_object_set_new(o, "arrived", rd_json_u64(w->arrived));
	json_object_set_new(o, "reordered", rd_json_u64(w->reordered));
	json_object_set_new(o, "lost", incident_json(&w->lost, start));
	json_object_set_new(o, "asked_for", rd_json_u64(w->asked_for));
	json_object_set_new(o, "unclear", incident_json(&w->unclear, start));
	json_object_set_new(o, "duplicated", incident_json(&w->duplicated, start));
	json_object_set_new(o, "missed", incident_json(&w->missed, start));
	json_object_set_new(o, "missed_at_receiver", incident_json(&w->missed_at_receiver, start));
	return o;
}

static json_t *path_json(const struct rd_path *p, uint64_t start)
{
	json_t *o = json_object(), *qps = json_array();

	for (size_t i = 0; i < p->n_qps; i++)
		json_array_append_new(qps, qp_json(&p->qps[i], start));
	json_object_set_new(o, "from", json_string(p->from));
	json_object_set_new(o, "to", json_string(p->to));
	json_object_set_new(o, "sender", json_string(letters[p->sender]));
	json_object_set_new(o, "sender_known", json_boolean(p->sender_known));
	json_object_set_new(o, "delay_variation", latency_json(&p->variation));
	json_object_set_new(o, "slowest_frame", rd_json_u64(p->slowest_frame));
	json_object_set_new(o, "qps", qps);
	return o;
}

static json_t *clock_json(const struct rd_ends_report *r)
{
	json_t *o;

	if (!r->offset_known)
		return json_null();
	o = json_object();
	json_object_set_new(o, "offset_ns", json_integer(r->offset_ns));
	json_object_set_new(o, "error_ns", rd_json_u64(r->offset_error_ns));
	json_object_set_new(o, "drift_ppm", r->drift_known ? json_real(r->drift_ppm) : json_null());
	json_object_set_new(o, "drift_error_ppm", json_real(r->drift_error_ppm));
	return o;
}

json_t *rd_ends_json(const struct rd_ends_report *r)
{
	json_t *o = json_object(), *paths = json_array();

	for (size_t i = 0; i < r->n_paths; i++)
		json_array_append_new(paths, path_json(&r->paths[i], r->start_ns));
	json_object_set_new(o, "first_ns", rd_json_u64(r->first_ns - r->start_ns));
	json_object_set_new(o, "last_ns", rd_json_u64(r->last_ns - r->start_ns));
	json_object_set_new(o, "packets", rd_json_u64(r->packets));
	json_object_set_new(o, "outside", rd_json_u64(r->outside));
	json_object_set_new(o, "elsewhere", rd_json_u64(r->elsewhere));
	json_object_set_new(o, "evicted", rd_json_u64(r->evicted));
	json_object_set_new(o, "left_out", rd_json_u64(r->left_out));
	json_object_set_new(o, "clock", clock_json(r));
	json_object_set_new(o, "paths", paths);
	json_object_set_new(o, "findings", rd_findings_json(&r->findings, r->start_ns));
	json_object_set_new(o, "findings_left_out",
		rd_json_u64(rd_findings_left_out(&r->findings, NULL, RD_SEV_NONE)));
	return o;
}
