/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The comparison of two captures as JSON: "ends" of docs/schema/analyze.json. */
#include "selection.h"
#include <rdmadump/ends.h>
#include <rdmadump/json.h>
#include <stdlib.h>

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
	json_object_set_new(o, "order_unclear", rd_json_u64(w->order_unclear));
	json_object_set_new(o, "order_unknown", rd_json_u64(w->order_unknown));
	json_object_set_new(o, "lost", incident_json(&w->lost, start));
	json_object_set_new(o, "asked_for", rd_json_u64(w->asked_for));
	json_object_set_new(o, "unclear", incident_json(&w->unclear, start));
	json_object_set_new(o, "duplicated", incident_json(&w->duplicated, start));
	json_object_set_new(o, "missed", incident_json(&w->missed, start));
	json_object_set_new(o, "missed_at_receiver", incident_json(&w->missed_at_receiver, start));
	return o;
}

/* Without its QPs. */
static json_t *path_json(const struct rd_path *p)
{
	json_t *o = json_object();

	json_object_set_new(o, "from", json_string(p->from));
	json_object_set_new(o, "to", json_string(p->to));
	json_object_set_new(o, "network", p->network ? rd_json_u64(p->network) : json_null());
	json_object_set_new(o, "sender", json_string(letters[p->sender]));
	json_object_set_new(o, "sender_known", json_boolean(p->sender_known));
	json_object_set_new(o, "delay_variation", latency_json(&p->variation));
	json_object_set_new(o, "slowest_frame", rd_json_u64(p->slowest_frame));
	json_object_set_new(o, "qps", json_array());
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

/* Why there is no clock. */
static json_t *clock_unknown_json(const struct rd_ends_report *r)
{
	if (r->offset_known)
		return json_null();
	if (r->both_ways)
		return json_string("no_agreement");
	return json_string(rd_ends_has_both_ways(r) ? "senders_unknown" : "one_direction");
}

/* As that of one capture, with the captures that missed packets. */
static json_t *ends_verdict_json(const struct rd_ends_report *r)
{
	struct rd_report shell = {.verdict = r->verdict};
	json_t *o, *captures = json_array();

	shell.totals.first_ns = r->start_ns;
	o = verdict_json(&shell);
	for (int i = 0; i < RD_TAPS; i++)
		if (r->missed_by >> i & 1)
			json_array_append_new(captures, json_string(letters[i]));
	if (r->missed_by) {
		json_object_set_new(
			o, "where", json_string(r->verdict.places ? "unknown" : "capture"));
		json_object_set_new(
			o, "where_certainty", json_string(rd_certainty_name(r->verdict.where)));
	}
	json_object_set_new(o, "missed_by", captures);
	json_object_set_new(
		o, "shown_by", r->shown_by ? json_string(letters[r->shown_by >> 1]) : json_null());
	return o;
}

/* All but findings and paths, which are empty. */
static json_t *frame_json(const struct rd_ends_report *r)
{
	const struct rd_report shell = {.groups = r->groups};
	json_t *o = json_object();

	json_object_set_new(o, "verdict", ends_verdict_json(r));
	json_object_set_new(o, "first_ns", rd_json_u64(r->first_ns - r->start_ns));
	json_object_set_new(o, "last_ns", rd_json_u64(r->last_ns - r->start_ns));
	json_object_set_new(o, "packets", rd_json_u64(r->packets));
	json_object_set_new(o, "outside", rd_json_u64(r->outside));
	json_object_set_new(o, "elsewhere", rd_json_u64(r->elsewhere));
	json_object_set_new(o, "evicted", rd_json_u64(r->evicted));
	json_object_set_new(o, "left_out", rd_json_u64(r->left_out));
	json_object_set_new(o, "clock", clock_json(r));
	json_object_set_new(o, "clock_unknown", clock_unknown_json(r));
	json_object_set_new(o, "paths", json_array());
	json_object_set_new(o, "findings", json_array());
	json_object_set_new(o, "findings_left_out",
		rd_json_u64(rd_findings_left_out(&r->findings, NULL, RD_SEV_NONE)));
	json_object_set_new(o, "groups", groups_json(&shell));
	return o;
}

json_t *rd_ends_json(const struct rd_ends_report *r)
{
	json_t *o = frame_json(r), *paths = json_object_get(o, "paths");

	for (size_t i = 0; i < r->n_paths; i++) {
		json_t *path = path_json(&r->paths[i]), *qps = json_object_get(path, "qps");

		for (size_t k = 0; k < r->paths[i].n_qps; k++)
			json_array_append_new(qps, qp_json(&r->paths[i].qps[k], r->start_ns));
		json_array_append_new(paths, path);
	}
	json_object_set_new(o, "findings", rd_findings_json(&r->findings, r->start_ns));
	return o;
}

/* --- of a page -------------------------------------------------------------------------------- */

struct page {
	const struct rd_ends_report *r;
	size_t flags, bytes;	      /* that are left */
	json_t **paths;		      /* NULL: no QP of it was chosen */
	size_t findings, qps, faulty; /* that did not fit */
	bool no_memory;
};

/* Adds what fits; consumes the value. False: it does not fit. */
static bool add(struct page *p, json_t *list, json_t *value)
{
	const size_t bytes = page_bytes(value, p->flags);
	const bool fits = bytes <= p->bytes;

	p->no_memory |= bytes == SIZE_MAX;
	if (!fits)
		json_decref(value);
	else
		p->no_memory |= json_array_append_new(list, value) < 0;
	p->bytes -= fits ? bytes : 0;
	return fits;
}

static json_t *page_findings(struct page *p)
{
	const struct rd_findings *list = &p->r->findings;
	json_t *findings = json_array();
	size_t i = 0;

	while (i < list->n && add(p, findings, rd_finding_json(&list->finding[i], p->r->start_ns)))
		i++;
	p->findings = list->n - i;
	return findings;
}

/* A path is added with the first of its QPs. */
static bool add_qp(struct page *p, size_t path, const struct rd_path_qp *w)
{
	json_t *o = p->paths[path];

	if (!o) {
		size_t bytes;

		o = path_json(&p->r->paths[path]);
		bytes = page_bytes(o, p->flags);
		p->no_memory |= bytes == SIZE_MAX;
		if (bytes > p->bytes) {
			json_decref(o);
			return false;
		}
		p->bytes -= bytes;
		p->paths[path] = o;
	}
	return add(p, json_object_get(o, "qps"), qp_json(w, p->r->start_ns));
}

/* The QPs of all paths that have a fault, or those that have none. */
static void page_qps(struct page *p, bool faulty)
{
	bool fits = !p->qps;

	for (size_t i = 0; i < p->r->n_paths; i++)
		for (size_t k = 0; k < p->r->paths[i].n_qps; k++) {
			const struct rd_path_qp *w = &p->r->paths[i].qps[k];

			if (path_qp_is_faulty(w) != faulty || (fits = fits && add_qp(p, i, w)))
				continue;
			p->qps++;
			p->faulty += faulty;
		}
}

static json_t *page_paths(struct page *p)
{
	json_t *paths = json_array();

	page_qps(p, true);
	page_qps(p, false);
	for (size_t i = 0; i < p->r->n_paths; i++)
		if (p->paths[i])
			p->no_memory |= json_array_append_new(paths, p->paths[i]) < 0;
	return paths;
}

json_t *rd_ends_json_within(const struct rd_ends_report *r, size_t bytes, size_t flags)
{
	struct page p = {.r = r,
		.flags = flags,
		.bytes = bytes / 4,
		.paths = calloc(r->n_paths + 1, sizeof(json_t *))};
	json_t *o = p.paths ? frame_json(r) : NULL;

	if (!o) {
		free(p.paths);
		return NULL;
	}
	json_object_set_new(o, "findings", page_findings(&p));
	p.bytes += bytes - bytes / 4;
	json_object_set_new(o, "paths", page_paths(&p));
	free(p.paths);
	if (p.findings || p.qps)
		json_object_set_new(o, "page_left_out",
			json_pack("{s:o, s:o, s:o}", "findings", rd_json_u64(p.findings), "qps",
				rd_json_u64(p.qps), "faulty_qps", rd_json_u64(p.faulty)));
	if (!p.no_memory)
		return o;
	json_decref(o);
	return NULL;
}
