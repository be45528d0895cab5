/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a run leaves in the user's directory, with the rights of that user:
 * selftest-HOST-DEV.partial.json while probes run, then selftest-HOST-DEV.tar.zst; without
 * libarchive selftest-HOST-DEV.json.
 */
#ifndef RDMADUMP_SELFTEST_SAVED_H
#define RDMADUMP_SELFTEST_SAVED_H

#include <limits.h>
#include <rdmadump/error.h>
#include <rdmadump/identity.h>
#include <stddef.h>

#define SAVED_FILES   16
#define SAVED_NAME    48
#define SAVED_PARTIAL ".partial.json"

struct saved {
	struct rd_identity identity;
	int directory; /* -1: none */
	char parent[PATH_MAX], base[200];
	/* What the archive gets beside result.json. */
	struct saved_file {
		char name[SAVED_NAME];
		void *bytes;
		size_t n;
	} file[SAVED_FILES];
	unsigned int n_files;
};

/*
 * Chooses a name that no result has, and creates the partial one. `parent` NULL: the current
 * directory. 0, or -1 with RD_CLASS_OUTPUT. saved_close() after success.
 */
int saved_open(struct saved *o, const char *parent, const char *base, struct rd_error *err);
/* Keeps a file for the archive, whose bytes it frees. False: there is no room, and they are freed.
 */
bool saved_keep(struct saved *o, const char *name, void *bytes, size_t n);
/* Replaces the partial result by this text. */
int saved_write(const struct saved *o, const char *text, struct rd_error *err);
/* Writes the result in place of the partial one, and sets `path` to it. */
int saved_finish(
	const struct saved *o, const char *text, char path[PATH_MAX], struct rd_error *err);
/* Removes the partial result. */
void saved_remove(const struct saved *o);
void saved_close(struct saved *o);

#endif
