/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The directory that holds the result until it is archived. Its files are created with the rights
 * of the user who called sudo, and replaced atomically, so that a reader never sees a partial file.
 */
#ifndef RDMADUMP_SELFTEST_DIRECTORY_H
#define RDMADUMP_SELFTEST_DIRECTORY_H

#include <limits.h>
#include <rdmadump/identity.h>
#include <stddef.h>

#define DIRECTORY_FILES 64
#define DIRECTORY_NAME	64

struct directory {
	struct rd_identity identity;
	int parent_fd, fd; /* -1: not open */
	char parent[PATH_MAX];
	char base[200];	   /* "selftest-HOST-DEV" */
	char partial[220]; /* base with ".partial" */
	char file[DIRECTORY_FILES][DIRECTORY_NAME];
	unsigned int n_files;
};

/*
 * Makes the directory PARENT/BASE.partial; a number is appended to BASE if a result of that name
 * exists. Returns 0, or -1 with RD_CLASS_OUTPUT; nothing is left behind then.
 */
int directory_make(struct directory *d, const char *parent, const char *base, struct rd_error *err);
/* Writes a file atomically: on failure the previous one stays. 0, or -1 with the error. */
int directory_write(
	struct directory *d, const char *name, const void *bytes, size_t n, struct rd_error *err);
/*
 * Makes an archive of the files; without libarchive, renames the directory to its final name.
 * Writes the path of the result. -1 with the error: the directory remains.
 */
int directory_finish(struct directory *d, char path[PATH_MAX], struct rd_error *err);
/* Removes directory and files. */
void directory_remove(struct directory *d);
/* Closes the descriptors. */
void directory_close(struct directory *d);

#endif
