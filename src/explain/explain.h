/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump explain`: what its parts share. */
#ifndef RDMADUMP_EXPLAIN_H
#define RDMADUMP_EXPLAIN_H

#include "log.h"
#include <jansson.h>

#define EXPLAIN_VERSION 1 /* of the JSON */

/* The answer to what was read, for people; `columns`: of the terminal. */
void explain_print(FILE *out, const struct log *log, unsigned int columns);
/* A label and its text, wrapped; parts of the text are separated by '\n'. Nothing for NULL and "".
 */
void explain_put(FILE *out, const char *label, const char *text, unsigned int columns);
/* What join_find() found. */
void explain_print_joined(FILE *out, const json_t *found, unsigned int columns);
/* All that can be explained, a line each. */
void explain_list(FILE *out, const struct catalogue *c);
/* The same as documents. NULL if out of memory; owned by the caller. */
json_t *explain_json(const struct log *log);
json_t *explain_list_json(const struct catalogue *c);

#endif
