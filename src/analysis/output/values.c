/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values that several parts of a report have: frames as text, latencies as JSON. */
#include "output.h"
#include <inttypes.h>
#include <rdmadump/json.h>
#include <rdmadump/printable.h>

void frame_text(const struct rd_report *r, uint64_t frame, FILE *out)
{
	size_t i = r->n_files;

	while (i > 1 && r->files[i - 1].first_frame > frame)
		i--;
	if (r->n_files < 2) {
		fprintf(out, "%" PRIu64, frame);
		return;
	}
	rd_printable_put(out, r->files[i - 1].name, SIZE_MAX);
	fprintf(out, ":%" PRIu64, frame + 1 - r->files[i - 1].first_frame);
}

json_t *latency_json(const struct rd_latency *l)
{
	json_t *o;

	if (!l->n)
		return json_null();
	o = json_object();
	json_object_set_new(o, "n", rd_json_u64(l->n));
	json_object_set_new(o, "min_ns", rd_json_u64(l->min));
	json_object_set_new(o, "p50_ns", rd_json_u64(l->p50));
	json_object_set_new(o, "p90_ns", rd_json_u64(l->p90));
	json_object_set_new(o, "p99_ns", rd_json_u64(l->p99));
	json_object_set_new(o, "max_ns", rd_json_u64(l->max));
	return o;
}
