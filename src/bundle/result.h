/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A file that gets its name only when it is complete. */
#ifndef RDMADUMP_BUNDLE_RESULT_H
#define RDMADUMP_BUNDLE_RESULT_H

#include <limits.h>
#include <rdmadump/identity.h>
#include <rdmadump/outfile.h>

struct result {
	const char *option; /* names the file in advice */
	char path[PATH_MAX];
	char part[PATH_MAX + 16]; /* the temporary file; `path` if not a regular file */
	struct rd_outfile out;
	bool is_stdout;
};

/*
 * Called before any work, after the caller has assumed the rights of the user who called sudo.
 * Checks that `path` ("-": standard output) can be written and is not an input. The temporary file
 * has a unique name, so that two runs with the same `path` do not collide. -1 with the error; no
 * file is left then.
 */
int result_open(struct result *o, const char *path, const char *option,
	const struct rd_inputs *inputs, struct rd_error *err);
/* The descriptor to write to. If the file exists, it is truncated. -1: error. */
int result_begin(struct result *o, struct rd_error *err);
/* Renames it to its final name. */
int result_finish(struct result *o, const struct rd_identity *identity, struct rd_error *err);
/* Removes the temporary file if it was not renamed. */
void result_abandon(struct result *o, const struct rd_identity *identity);

#endif
