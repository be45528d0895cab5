/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every JSON document of the program begins with. From any thread. */
#pragma once

#include <jansson.h>
#include <stdint.h>

/* Name, version, source revision: "rdmadump 0.1.0 (v0.1.0-3-g0123456)"; also for capture files. */
const char *rd_program(void);

/*
 * "version", "program" and "start_ns": when what the document describes began, a capture, a
 * reading, collecting; nanoseconds since the Unix epoch, 0 (unknown, or none) as null. What
 * lasts also has "duration_s", and what happened inside "time_ns". `rest` follows and is consumed.
 * The caller owns the result; NULL if out of memory.
 */
json_t *rd_document(int version, uint64_t start_ns, json_t *rest);
/* For "duration_s". */
json_t *rd_json_seconds(int64_t ns);
