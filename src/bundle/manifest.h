/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* manifest.json: what is in the bundle, where it comes from, and what is not in it. */
#ifndef RDMADUMP_BUNDLE_MANIFEST_H
#define RDMADUMP_BUNDLE_MANIFEST_H

#include "store.h"
#include "task.h"
#include <jansson.h>
#include <rdmadump/bundle.h>

/*
 * The format is that of docs/schema/bundle.json; the caller owns the result. If store is NULL, the
 * manifest is a plan: it lists the members that would be stored. `host` is the machine's name as
 * printed. NULL: out of memory.
 */
json_t *manifest_make(const struct tasks *tasks, const struct store *store,
	const struct rd_bundle_config *config, const char *host, uint64_t start_ns,
	uint64_t took_ns);

#endif
