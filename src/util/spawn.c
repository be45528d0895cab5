/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands that the user names, run for a file. */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/spawn.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

#ifdef HAVE_POSIX_SPAWN_FILE_ACTIONS_ADDCLOSEFROM_NP
static int close_all_others(posix_spawn_file_actions_t *actions)
{
	return posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
}
#else
/* For glibc before 2.34. Other threads open descriptors with O_CLOEXEC only. */
static int close_all_others(posix_spawn_file_actions_t *actions)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *d;
	int rc = 0;

	if (!dir)
		return errno;
	while (rc == 0 && (d = readdir(dir))) {
		int fd = atoi(d->d_name);

		if (fd > STDERR_FILENO && fd != dirfd(dir))
			rc = posix_spawn_file_actions_addclose(actions, fd);
	}
	closedir(dir);
	return rc;
}
#endif

/*
 * The command inherits only standard output and error: with a packet socket it could send frames,
 * and from standard input it could read a part of the capture.
 */
static int spawn(pid_t *pid, char *const argv[], int out, const posix_spawnattr_t *attr)
{
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return rc;
	rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (rc == 0 && out >= 0)
		rc = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (rc == 0)
		rc = close_all_others(&actions);
	if (rc == 0)
		rc = posix_spawnp(pid, argv[0], &actions, attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

int rd_spawn(pid_t *pid, char *const argv[], int out)
{
	posix_spawnattr_t attr;
	sigset_t none, ours;
	int rc;

	sigemptyset(&none);
	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &ours);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	rc = spawn(pid, argv, out, &attr);
	posix_spawnattr_destroy(&attr);
	return rc;
}
