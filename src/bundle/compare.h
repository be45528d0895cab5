/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --compare: members as lists of named values, and the differences between two bundles. */
#ifndef RDMADUMP_BUNDLE_COMPARE_H
#define RDMADUMP_BUNDLE_COMPARE_H

#include <jansson.h>
#include <rdmadump/error.h>
#include <stddef.h>

/*
 * The differences between two bundles, usually of one machine before and after a change: versions,
 * firmware, module parameters, settings, links, counters, findings. Neither is trusted. *changes is
 * freed by the caller; docs/schema/bundle-compare.json describes it. -1 with RD_CLASS_DEVICE if one
 * cannot be read. Starts processes: call it before any thread is started.
 */
int rd_bundle_compare(
	const char *old_path, const char *new_path, json_t **changes, struct rd_error *err);

/* Prints these changes on standard output; long lists are cut. */
void bundle_print_changes(const json_t *changes);

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
