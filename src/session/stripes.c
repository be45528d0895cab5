/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files of the same name in several directories, for ports that are too fast for one disk: makes
 * their paths, and checks whether they can be written. */
#include "session.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *join(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name) < 0
		       ? NULL
		       : path;
}

char *rd_stripe_path(const struct rd_session_config *o, unsigned int i)
{
	return join(o->stripes[i], o->path);
}

char *stripe_pattern(const struct rd_session_config *o, unsigned int i)
{
	const struct rd_rotation *r = &o->rotation;
	bool expanded = r->timed && r->naming == RD_NAMES_TCPDUMP;
	const char *dir = o->stripes[i];
	size_t len = strlen(dir), used = 0;
	char *literal = malloc(2 * len + 1), *path = NULL;

	for (size_t k = 0; literal && k < len; k++) {
		literal[used++] = dir[k];
		if (expanded && dir[k] == '%')
			literal[used++] = '%';
	}
	if (literal) {
		literal[used] = '\0';
		path = join(literal, o->path);
	}
	free(literal);
	return path;
}

static int unfit(const char *dir, int errnum, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_OUTPUT, errnum,
		"no file was changed: name directories that exist and are writable",
		"--stripe: cannot write to '%s'", dir);
}

static int check_file(const struct rd_session_config *o, unsigned int i, struct rd_error *err)
{
	char *path = rd_stripe_path(o, i);
	struct stat st;
	int rc = 0;

	if (!path)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for file names");
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			rc = unfit(path, EISDIR, err);
		else if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
			rc = unfit(path, errno, err);
	}
	free(path);
	return rc;
}

int stripes_check(const struct rd_session_config *o, struct rd_error *err)
{
	struct stat st[RD_STRIPES_MAX];
	bool shared = false;

	for (unsigned int i = 0; i < o->n_stripes; i++) {
		const char *dir = o->stripes[i];

		if (stat(dir, &st[i]) < 0)
			return unfit(dir, errno, err);
		if (!S_ISDIR(st[i].st_mode))
			return unfit(dir, ENOTDIR, err);
		if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
			return unfit(dir, errno, err);
		for (unsigned int k = 0; k < i; k++) {
			if (st[k].st_dev != st[i].st_dev)
				continue;
			shared = true;
			if (st[k].st_ino == st[i].st_ino)
				return rd_fail(err, RD_CLASS_USAGE, 0, "name each directory once",
					"--stripe: '%s' and '%s' are the same directory",
					o->stripes[k], dir);
		}
		if (check_file(o, i, err) < 0)
			return -1;
	}
	if (shared)
		rd_log(RD_LOG_WARNING, "--stripe: some of the directories are on one file system, "
				       "which may be no faster than one of them");
	return 0;
}
