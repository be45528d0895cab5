/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text and numbers as JSON, the same in every document. NULL if out of memory. */
#ifndef RDMADUMP_JSON_H
#define RDMADUMP_JSON_H

#include <jansson.h>
#include <stdint.h>

/* U+FFFD stands for bytes that are no UTF-8, which json_string() refuses; null for NULL. */
json_t *rd_json_string(const char *text);
/* The same; null for "", too. */
json_t *rd_json_text(const char *text);

/*
 * JSON's numbers have no limit, those of most programs have: an integer up to 2^63 - 1, above that
 * a real, which has an error of 2^-53 at most.
 */
json_t *rd_json_u64(uint64_t n);
/* The same; null for 0, where that is "unknown" or "none". */
json_t *rd_json_u64_or_null(uint64_t n);
/* What rd_json_u64() wrote. 0 if the value is absent or no number from 0 to 2^64 - 1. */
uint64_t rd_json_u64_value(const json_t *value);

#endif
