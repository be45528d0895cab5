/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs commands given by the user for a file. */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/program.h>
#include <rdmadump/spawn.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

void rd_descriptors_keep(const int *keep, size_t n)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *d;

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	while (dir && (d = readdir(dir))) {
		int fd = atoi(d->d_name);
		bool kept = fd <= STDERR_FILENO || fd == dirfd(dir);

		for (size_t i = 0; i < n; i++)
			kept |= fd == keep[i];
		if (!kept)
			syscall(SYS_close, fd);
	}
	if (dir)
		closedir(dir);
}

#ifdef HAVE_POSIX_SPAWN_FILE_ACTIONS_ADDCLOSEFROM_NP
static int close_all_others(posix_spawn_file_actions_t *actions, int last)
{
	return posix_spawn_file_actions_addclosefrom_np(actions, last + 1);
}
#else
/* For glibc before 2.34. Other threads open descriptors with O_CLOEXEC only. */
static int close_all_others(posix_spawn_file_actions_t *actions, int last)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *d;
	int rc = 0;

	if (!dir)
		return errno;
	while (rc == 0 && (d = readdir(dir))) {
		int fd = atoi(d->d_name);

		if (fd > last && fd != dirfd(dir))
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
static int spawn(
	pid_t *pid, char *const argv[], const struct rd_spawn *how, const posix_spawnattr_t *attr)
{
	posix_spawn_file_actions_t actions;
	int last = how->file > 0 ? STDERR_FILENO + 1 : STDERR_FILENO;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return rc;
	rc = how->in > 0 ? posix_spawn_file_actions_adddup2(&actions, how->in, STDIN_FILENO)
			 : posix_spawn_file_actions_addopen(
				   &actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (rc == 0 && how->out > 0)
		rc = posix_spawn_file_actions_adddup2(&actions, how->out, STDOUT_FILENO);
	if (rc == 0 && how->file > 0)
		rc = posix_spawn_file_actions_adddup2(&actions, how->file, last);
	if (rc == 0)
		rc = close_all_others(&actions, last);
	if (rc == 0)
		rc = posix_spawnp(pid, argv[0], &actions, attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

int rd_spawn(pid_t *pid, char *const argv[], const struct rd_spawn *how)
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
	posix_spawnattr_setflags(&attr, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						(how->own_group ? POSIX_SPAWN_SETPGROUP : 0)));
	rc = spawn(pid, argv, how, &attr);
	posix_spawnattr_destroy(&attr);
	return rc;
}

/* Whether execvp(3) finds it */
static bool can_run(const char *command)
{
	const char *list = getenv("PATH");
	char path[PATH_MAX];

	if (!*command || strchr(command, '/'))
		return rd_program_may_run(command);
	return rd_program_search(path, list ? list : "/bin:/usr/bin", command, true);
}

int rd_spawn_check(const char *option, const char *command, struct rd_error *err)
{
	if (!command || can_run(command))
		return 0;
	return rd_fail(err, RD_CLASS_USAGE, errno, "name a program, without arguments", "%s '%s'",
		option, command);
}
