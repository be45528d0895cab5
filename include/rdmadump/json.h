/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Any text as JSON, which must be valid UTF-8. */
#ifndef RDMADUMP_JSON_H
#define RDMADUMP_JSON_H

#include <jansson.h>

/* U+FFFD stands for bytes that are no UTF-8, which json_string() refuses; null for NULL. */
json_t *rd_json_string(const char *text);

#endif
