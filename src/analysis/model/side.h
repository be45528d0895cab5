/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies of a flow for its side of a conversation. */
#ifndef RDMADUMP_ANALYSIS_SIDE_H
#define RDMADUMP_ANALYSIS_SIDE_H

#include "flow.h"

/* Whether an incident of a side is counted in the flow of its peer. */
extern const bool side_is_in_peer[RD_INC_COUNT];
/*
 * Copy a flow into a side (side.c): incidents, of a side with the frames `own` and its peer's
 * `other` (either may be NULL); verbs and latencies of its requests. False if out of memory.
 */
bool side_incidents(struct rd_side *s, const struct flow *own, const struct flow *other);
bool side_requests(struct rd_side *s, const struct flow *f);
void side_free(struct rd_side *s);
/* `files` may be NULL. */
void report_files_free(struct rd_report_file *files, size_t n);

#endif
