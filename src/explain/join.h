/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the queue pair of a line in captures, and what they show about it. */
#ifndef RDMADUMP_EXPLAIN_JOIN_H
#define RDMADUMP_EXPLAIN_JOIN_H

#include "line.h"
#include <jansson.h>

#define JOIN_FILES 64 /* at most */
#define JOINED_MAX 4  /* queue pairs that fit equally well */

/*
 * The report of `rdmadump analyze --json` about the files (of one capture, or of two ends), or the
 * captures in directories. NULL with the error; owned by the caller.
 */
json_t *join_report(char *const files[], unsigned int n, bool *damaged, struct rd_error *err);
/*
 * The conversations of the report that fit the line best, each an object: "capture" (index), "by"
 * (what they have in common), "fits" (how many fit as well), "here", "peer", "ending", "time" (the
 * line's and those of the packets in ns since 1970, or null), "happened", "counters", "verdict". An
 * empty array: none fits. Owned by the caller.
 */
json_t *join_find(const json_t *report, const struct reading *r);

#endif
