/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the directory for temporary files. */
#include <limits.h>
#include <rdmadump/log.h>
#include <rdmadump/outfile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEMS "/tmp"

/* Whether no other user can replace a file that this process creates there. */
static bool is_ours(const char *directory)
{
	struct stat st;

	return stat(directory, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       (!(st.st_mode & (S_IWGRP | S_IWOTH)) || (st.st_mode & S_ISVTX));
}

/* The directory and all above it. */
static bool is_safe(const char *directory)
{
	char path[PATH_MAX], *slash;

	if (!realpath(directory, path))
		return true;
	for (; is_ours(path); *slash = '\0') {
		slash = strrchr(path, '/');
		if (!slash || slash == path)
			return is_ours("/");
	}
	return false;
}

const char *rd_temporary_directory(void)
{
	const char *named = getenv("TMPDIR");

	if (!named || !*named)
		return SYSTEMS;
	if (geteuid() != 0 || is_safe(named))
		return named;
	rd_log(RD_LOG_WARNING,
		"TMPDIR '%s' is not used: another user may replace files there; " SYSTEMS " is",
		named);
	return SYSTEMS;
}
