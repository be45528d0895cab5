/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the other programs of this installation, or of this build. */
#include "version.h"
#include <errno.h>
#include <rdmadump/program.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAIN_PROGRAM "rdmadump" /* its installed name may differ: --program-transform-name */

/* The directory of this program, without a slash at its end; false if it is not known. */
static bool own_directory(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

bool rd_program_may_run(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	errno = EACCES;
	return S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool rd_program_search(char path[PATH_MAX], const char *list, const char *name, bool relative)
{
	for (size_t n;; list += n + 1) {
		int len;

		n = strcspn(list, ":");
		/* As execvp(3): an empty one is the current directory. */
		len = snprintf(path, PATH_MAX, "%.*s%s%s", (int)n, list, n ? "/" : "", name);
		if ((relative || *list == '/') && len < PATH_MAX && rd_program_may_run(path))
			return true;
		if (!list[n])
			return false;
	}
}

int rd_program_find(char path[PATH_MAX], const char *name, struct rd_error *err)
{
	const char *moved = "/../libexec/rdmadump/", *installed = RD_LIBEXEC_DIR "/";
	const char *installed_name = name;
	char here[PATH_MAX];
	bool known = own_directory(here);

	if (strcmp(name, MAIN_PROGRAM) == 0) {
		moved = "/../../bin/";
		installed = RD_BIN_DIR "/";
		installed_name = RD_INSTALLED_NAME;
	}
	for (int place = known ? 0 : 2; place < 3; place++) {
		int n = place == 2 ? snprintf(path, PATH_MAX, "%s%s", installed, installed_name)
				   : snprintf(path, PATH_MAX, "%s%s%s", here,
					     place == 0 ? "/" : moved, name);

		if (n > 0 && n < PATH_MAX && rd_program_may_run(path))
			return 0;
	}
	return rd_fail(err, RD_CLASS_DEVICE, 0, "install rdmadump again, all of it",
		"the program '%s' is missing, here and in " RD_LIBEXEC_DIR, name);
}
