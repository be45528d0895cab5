/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Values that several parts of a report have: names of enumerations, frames as text, incidents and
 * latencies as JSON.
 */
#include "output.h"
#include <inttypes.h>
#include <rdmadump/names.h>
#include <rdmadump/printable.h>

RD_NAMES(kind_name, "?", [RD_KIND_OTHER] = "other", [RD_KIND_ROCE1] = "RoCE v1",
	[RD_KIND_ROCE2] = "RoCE v2", [RD_KIND_IB] = "InfiniBand")

RD_NAMES(pairing_name, "?", [RD_PAIR_NONE] = "none", [RD_PAIR_PSN] = "psn", [RD_PAIR_PORT] = "port",
	[RD_PAIR_CM] = "cm", [RD_PAIR_RESOURCE] = "resource")

RD_NAMES(ending_name, "?", [RD_ENDING_OPEN] = "open", [RD_ENDING_CLOSED] = "closed",
	[RD_ENDING_STOPPED] = "responses_stopped", [RD_ENDING_RETRY] = "retry_exceeded",
	[RD_ENDING_RNR] = "rnr_retry_exceeded", [RD_ENDING_REMOTE_ERROR] = "remote_error")

RD_NAMES(side_name, NULL, "a", "b")

RD_NAMES(captured_name, "?", "silent", "no", "unknown", "likely", "yes")

RD_NAMES(end_name, "?", "to", "from", "either")

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

json_t *json_nothing_yet(const struct rd_at *at)
{
	(void)at;
	return json_array();
}

json_t *json_in_a_page(const struct rd_at *at)
{
	(void)at;
	return NULL;
}

#define RD_THIS struct rd_incident
const struct rd_shape incident_shape =
	RD_SHAPE("event", "Something that happened: how often, first and last frame and time.",
		{"count", "how often", RD_UINT(count)}, RD_SAME(UINT, first_frame),
		RD_SAME(UINT, last_frame), RD_SAME(TIME, first_ns), RD_SAME(TIME, last_ns));
#undef RD_THIS

#define RD_THIS struct rd_latency
const struct rd_shape latency_shape = {"latency",
	"Nanoseconds; 0: less than a step of the capture's clock, which is not measured. "
	"Percentiles are interpolated within histogram steps, of applications exact where "
	"\"exact\" is true. null: no sample.",
	RD_ROWS(RD_SAME(UINT, n), {"min_ns", NULL, RD_UINT(min)}, {"p50_ns", NULL, RD_UINT(p50)},
		{"p90_ns", NULL, RD_UINT(p90)}, {"p99_ns", NULL, RD_UINT(p99)},
		{"max_ns", NULL, RD_UINT(max)}),
	RD_IF(n)};
