/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the makers of a report share. */
#ifndef RDMADUMP_ANALYSIS_REPORT_H
#define RDMADUMP_ANALYSIS_REPORT_H

#include "../model/state.h"
#include <rdmadump/units.h>

/* An address of a flow as people write it. */
void address_text(char out[RD_ADDRESS_LEN], unsigned int net, const uint8_t *address);

/* An empty series with the points that the grid has used. False for want of memory. */
bool points_init(struct rd_series *s, const struct grid *g);
/* Adds a row of the grid. */
void points_add(struct rd_series *s, const struct rd_point *row);

/* What there was of these, on a side whose frames are `own` and whose peer's are `other` (either
 * may be NULL); of its requests, their verbs and latencies (side.c). False for want of memory. */
bool side_events(struct rd_side *s, const struct flow *own, const struct flow *other);
bool side_requests(struct rd_side *s, const struct flow *f);
void side_free(struct rd_side *s);

/* Compares what a device counted with what its packets show. -1 for want of memory. */
int facts_check(const struct rd_analysis *a, struct rd_report *r);

/* "4.1 us" */
char *duration_text(char buf[RD_UNITS_LEN], uint64_t ns);
/* The findings of a report alone. */
void findings_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);
/* The same as JSON; times count from start_ns. */
json_t *findings_json(const struct rd_finding *f, size_t n, uint64_t start_ns);
/* A report in parts (json.c): what may be many is an empty array in the first one, and made one by
 * one. NULL for want of memory. */
json_t *report_frame_json(const struct rd_report *r);
struct list {
	const char *key;
	size_t (*count)(const struct rd_report *r);
	json_t *(*make)(const struct rd_report *r, size_t i);
};
extern const struct list report_lists[]; /* ended by a row without a key */
json_t *latency_json(const struct rd_latency *l);

/* Runs all rules over the report (findings.c). -1 for want of memory. */
int findings_make(const struct rd_analysis *a, struct rd_report *r);

#endif
