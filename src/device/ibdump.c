/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which program the name ibdump runs: the vendor's, or this program by a link, which advice must
 * not recommend.
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

/* This program, or another rdmadump: an installed one, while this one runs from its build. */
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

enum rd_ibdump rd_ibdump_find(const char *path, char *found)
{
	while (path && *path) {
		size_t n = strcspn(path, ":");
		char file[PATH_MAX];
		int len = snprintf(file, sizeof(file), "%.*s/ibdump", (int)n, path);

		/* Absolute paths only: the working directory may hold another user's file. */
		if (*path == '/' && len < (int)sizeof(file) && is_program(file)) {
			if (found)
				memcpy(found, file, (size_t)len + 1);
			return is_ours(file) ? RD_IBDUMP_OURS : RD_IBDUMP_OTHER;
		}
		path += n + (path[n] == ':');
	}
	return RD_IBDUMP_ABSENT;
}
