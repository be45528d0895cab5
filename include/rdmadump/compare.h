/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The differences between two analyses, usually before and after a repair. Captures of two runs
 * differ in QPs, times and lengths: traffic is matched by addresses, verb and service, and rates
 * and shares are compared, not numbers of packets.
 */
#pragma once

#include <jansson.h>
#include <rdmadump/analysis.h>

/* The part of a report that the comparison needs. */
struct rd_snapshot;

/* -1 with RD_CLASS_PARTIAL if out of memory. Freed by rd_snapshot_free(). */
int rd_snapshot_of_report(
	struct rd_snapshot **snapshot, const struct rd_report *r, struct rd_error *err);
/*
 * From a report as JSON, which is untrusted. `name` is used in messages. -1 with RD_CLASS_DEVICE if
 * it is not a report of one capture, or is of another version.
 */
int rd_snapshot_of_json(struct rd_snapshot **snapshot, const json_t *report, const char *name,
	struct rd_error *err);
void rd_snapshot_free(struct rd_snapshot *snapshot);

#define RD_CHANGES_VERSION 2 /* of the JSON */

struct rd_changes;

/* The snapshots must live as long as the result, which rd_changes_free() frees. */
int rd_changes_find(struct rd_changes **changes, const struct rd_snapshot *before,
	const struct rd_snapshot *after, struct rd_error *err);
void rd_changes_free(struct rd_changes *changes);

/* verbose 0: only what changed. `name`: the former report's. */
void rd_changes_text(
	const struct rd_changes *changes, const char *name, unsigned int verbose, FILE *out);
/* docs/schema/analyze-compare.json describes it. NULL if out of memory. */
json_t *rd_changes_json(const struct rd_changes *changes, const char *name);
