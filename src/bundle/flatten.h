/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text or JSON of a member as a list of named values, so that two of them can be compared. */
#ifndef RDMADUMP_BUNDLE_FLATTEN_H
#define RDMADUMP_BUNDLE_FLATTEN_H

#include <jansson.h>
#include <stddef.h>

#define FLAT_MAX 100000 /* values of one member */

/*
 * Both return an object: "ports/1/active_mtu" -> "4096", every value as text. An element of an
 * array is named by its name, device, port or index, not by its position. NULL: not in this format,
 * more than FLAT_MAX values, or out of memory. The input is untrusted.
 */
json_t *flatten_json(const char *text, size_t len);
/* Lines "name: value", "name = value", or with a tab or two spaces between both. Without a value,
 * the line is the name. */
json_t *flatten_lines(const char *text, size_t len);

#endif
