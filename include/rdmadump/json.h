/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text and numbers as JSON, the same in every document. The caller owns the result; NULL: out of
 * memory. From any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A string; U+FFFD replaces what is not UTF-8, which json_string() refuses. JSON null for NULL. */
json_t *rd_json_string(const char *text);
/* The same; JSON null also for "". */
json_t *rd_json_text(const char *text);

/*
 * An integer up to 2^63 - 1, the limit of jansson and of many readers; a real above that, with a
 * relative error of 2^-53 at most.
 */
json_t *rd_json_u64(uint64_t n);
/* The same; JSON null for 0, for values where 0 means "unknown" or "none". */
json_t *rd_json_u64_or_null(uint64_t n);
/* What `make`, which calls it *it, makes of each of n elements, in an array; without NULLs. */
#define RD_JSON_LIST(it, array, n, make)                                                           \
	({                                                                                         \
		json_t *it##_list = json_array();                                                  \
		__typeof__(&*(array)) it = (array);                                                \
                                                                                                   \
		for (size_t it##_left = (n); it##_left; it##_left--, it++)                         \
			json_array_append_new(it##_list, (make));                                  \
		it##_list;                                                                         \
	})

/* Reads what rd_json_u64() wrote. 0 if the value is absent or not a number from 0 to 2^64 - 1. */
uint64_t rd_json_u64_value(const json_t *value);

/* A string of an object; "": it has none. Borrowed from the object. */
const char *rd_json_text_of(const json_t *object, const char *key);

struct rd_json_failure {
	int errnum;    /* it cannot be read; 0: it can */
	bool too_long; /* more than `most` bytes */
	json_error_t why;
};

/*
 * Reads a file of at most `most` bytes (as a tree they are several times as many); `flags` of
 * jansson. NULL with the reason.
 */
json_t *rd_json_read_file(
	const char *path, uint64_t most, size_t flags, struct rd_json_failure *failure);
