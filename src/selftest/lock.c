/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks the device's directory in sysfs by flock(2): no file is created, and the kernel releases
 * the lock when the process ends for any reason.
 */
#include "lock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

int lock_device(const char *device, struct rd_error *err)
{
	char path[128];
	int fd, errnum;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", device);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno, "see 'rdmadump list'", "'%s'", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	errnum = errno;
	close(fd);
	if (errnum == EWOULDBLOCK)
		return rd_fail(err, RD_CLASS_USAGE, 0, "wait until it has ended",
			"another selftest is running on %s", device);
	return rd_fail(err, RD_CLASS_DEVICE, errnum, NULL, "cannot lock '%s'", path);
}
