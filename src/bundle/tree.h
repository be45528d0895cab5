/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files in a task's tar archive. */
#ifndef RDMADUMP_BUNDLE_TREE_H
#define RDMADUMP_BUNDLE_TREE_H

#include "task.h"
#include <rdmadump/archive.h>

/*
 * e->path is the member's name; `bytes` is the content of a file. A result other than 0 ends the
 * walk.
 */
typedef int tree_fn(void *ctx, const struct task *t, const struct rd_archive_entry *e,
	const char *bytes, size_t n, struct rd_error *err);
/* Calls fn for each entry until the archive is damaged or truncated. Returns fn's last result. */
int tree_each(const struct task *t, tree_fn *fn, void *ctx, struct rd_error *err);

#endif
