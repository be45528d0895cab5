/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --redact: the same replacements in all members, including captures. */
#ifndef RDMADUMP_BUNDLE_REDACTION_H
#define RDMADUMP_BUNDLE_REDACTION_H

#include "store.h"
#include "task.h"
#include <rdmadump/redact.h>

/*
 * Called after all tasks have ended. Redacts their output, messages, names and commands, and adds
 * captures and trees to the store. `capture` is the file of --capture, -1: none. A member that
 * cannot be redacted is omitted, and its task has the reason. Starts a process. -1 with the error.
 */
int redaction_run(struct rd_redact *r, struct tasks *tasks, struct store *store, int capture,
	const struct rd_bundle_config *config, struct rd_error *err);
/* Writes the map to `fd` as docs/schema/bundle-map.json describes it. */
int redaction_write_map(const struct rd_redact *r, const char *bundle, uint64_t start_ns, int fd,
	struct rd_error *err);

#endif
