/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a device is a kernel device, and whether it is hardware. */
#include "selftest.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Models are files: only real kernel devices are in sysfs. */
const char *device_runs_on(const struct rd_device *d)
{
	char path[128];
	struct statfs fs;
	int fd, rc;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", d->name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	rc = fstatfs(fd, &fs);
	close(fd);
	if (rc < 0)
		return NULL;
	if (fs.f_type != SYSFS_MAGIC)
		return "model";
	return strcmp(d->driver, "rdma_rxe") && strcmp(d->driver, "siw") ? "adapter" : "software";
}
