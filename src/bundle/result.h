/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A file that has its name only once it is whole. */
#ifndef RDMADUMP_BUNDLE_RESULT_H
#define RDMADUMP_BUNDLE_RESULT_H

#include <limits.h>
#include <rdmadump/identity.h>
#include <rdmadump/outfile.h>

struct result {
	const char *option; /* names the file in advice */
	char path[PATH_MAX];
	char part[PATH_MAX + 16]; /* of the file that is written; `path` if it is no regular file */
	struct rd_outfile out;
	bool is_stdout;
};

/*
 * Before any work, with the rights of the user who called sudo, which the caller assumes: `path`
 * ("-": standard output) can be written, and is no input. The file gets a name of its own, so that
 * two runs with one name do not meet. -1 with the error; nothing is left then.
 */
int result_open(struct result *o, const char *path, const char *option,
	const struct rd_inputs *inputs, struct rd_error *err);
/* The descriptor to be written to, for a file that may have been there: it is emptied. -1: error.
 */
int result_begin(struct result *o, struct rd_error *err);
/* Gives it its name. */
int result_finish(struct result *o, const struct rd_identity *identity, struct rd_error *err);
/* Removes what is not finished. */
void result_abandon(struct result *o, const struct rd_identity *identity);

#endif
