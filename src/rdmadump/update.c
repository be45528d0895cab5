/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --update: makes a running capture begin a new file. SIGUSR2 kills most programs, so the process
 * is checked first; the pidfd ensures that the signal reaches that process.
 */
#include "capture.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROGRAM "rdmadump"

/* The name of the executable of `who`, from /proc; false if that is not readable. */
static bool executable_name(const char *who, char *name, size_t size)
{
	char path[64], target[PATH_MAX];
	ssize_t len;
	char *deleted;

	snprintf(path, sizeof(path), "/proc/%s/exe", who);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = '\0';
	/* Replaced by an update of the package while it runs */
	deleted = strstr(target, " (deleted)");
	if (deleted)
		*deleted = '\0';
	snprintf(name, size, "%.*s", NAME_MAX,
		strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
	return true;
}

/* The command name of a process, by default its executable's name cut after 15 bytes. */
static bool command_name(const char *who, char *name, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/comm", who);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, name, size - 1);
	close(fd);
	if (len <= 0)
		return false;
	name[len] = '\0';
	name[strcspn(name, "\n")] = '\0';
	return true;
}

static bool same_executable(const char *who)
{
	struct stat theirs, ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/exe", who);
	return stat(path, &theirs) == 0 && stat("/proc/self/exe", &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

/*
 * A capture that has given up root hides its executable from everybody but root, its user included;
 * its command name can always be read.
 */
static bool is_capture(const char *who, char *name, size_t size)
{
	char ours[NAME_MAX + 1] = "";

	*name = '\0';
	if (same_executable(who))
		return true;
	if (executable_name(who, name, size))
		executable_name("self", ours, sizeof(ours));
	else if (command_name(who, name, size))
		command_name("self", ours, sizeof(ours));
	return *name && (strcmp(name, PROGRAM) == 0 || strcmp(name, ours) == 0);
}

static int not_a_capture(const char *who, char *name, struct rd_error *err)
{
	const char *todo = "give the PID of a running capture (pgrep " PROGRAM ")";

	for (char *c = name; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	if (!*name)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "run as root",
			"--update: /proc does not show what process %s is", who);
	return rd_fail(err, RD_CLASS_USAGE, 0, todo, "--update: process %s is '%s', not " PROGRAM,
		who, name);
}

static int send_failed(const char *who, struct rd_error *err)
{
	if (errno == ESRCH)
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"give the PID of a running capture (pgrep " PROGRAM ")",
			"--update: there is no process %s", who);
	return rd_fail(err, RD_CLASS_DEVICE, errno,
		errno == EPERM ? "run as root, or as the user of the capture" : NULL,
		"--update: cannot reach process %s", who);
}

int capture_update(unsigned int pid, struct rd_error *err)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), rc;
	char who[16], name[NAME_MAX + 1];

	snprintf(who, sizeof(who), "%u", pid);
	/* Before Linux 5.3, and where a container's seccomp filter refuses it */
	if (fd < 0 && (errno != ENOSYS && errno != EPERM))
		return send_failed(who, err);
	if (fd < 0 && kill((pid_t)pid, 0) < 0)
		return send_failed(who, err);
	if (!is_capture(who, name, sizeof(name))) {
		rc = not_a_capture(who, name, err);
	} else {
		rc = fd < 0 ? kill((pid_t)pid, SIGUSR2)
			    : (int)syscall(SYS_pidfd_send_signal, fd, SIGUSR2, NULL, 0);
		if (rc < 0)
			send_failed(who, err);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}
