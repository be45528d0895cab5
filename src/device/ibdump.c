/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which program is found under the name ibdump: the vendor's, whose firmware command we do not
 * have, or a link to this program, which would be advised as another one.
 */
#include "ibdump.h"
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

/* The program that runs, or another rdmadump: an installed one, while this one is not. */
static bool is_ours(const char *file)
{
	struct stat self, other;
	char real[PATH_MAX];
	const char *base;

	if (stat("/proc/self/exe", &self) == 0 && stat(file, &other) == 0 &&
		self.st_dev == other.st_dev && self.st_ino == other.st_ino)
		return true;
	if (!realpath(file, real))
		return false;
	base = strrchr(real, '/');
	return base && strcmp(base + 1, "rdmadump") == 0;
}

enum rd_ibdump rd_ibdump_find(const char *path)
{
	while (path && *path) {
		size_t n = strcspn(path, ":");
		char file[PATH_MAX];
		int len = snprintf(file, sizeof(file), "%.*s/ibdump", (int)n, path);

		/* Paths from the root only: what lies in the working directory is a stranger's. */
		if (*path == '/' && len < (int)sizeof(file) && is_program(file))
			return is_ours(file) ? RD_IBDUMP_OURS : RD_IBDUMP_OTHER;
		path += n + (path[n] == ':');
	}
	return RD_IBDUMP_ABSENT;
}
