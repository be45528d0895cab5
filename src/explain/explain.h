/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump explain`: what its parts share. */
#pragma once

#include "log.h"

#define EXPLAIN_VERSION 1 /* of the JSON */

/* The answer to what was read, for people; `columns`: of the terminal. */
void explain_print(FILE *out, const struct log *log, unsigned int columns);
/* A label and its text, wrapped; parts are separated by '\n'. Nothing for NULL and "". */
void explain_put(FILE *out, const char *label, const char *text, unsigned int columns);
/* What join_find() found. */
void explain_print_joined(FILE *out, const json_t *found, unsigned int columns);
/* All that can be explained, a line each. */
void explain_list(FILE *out, const struct catalogue *c);
/* The same as documents. NULL if out of memory; owned by the caller. */
json_t *explain_json(const struct log *log);
json_t *explain_list_json(const struct catalogue *c);

/* --- the queue pair of a line in captures (join.c) -------------------------------------- */

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
