/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Identifies a port by its directory in sysfs. */
#include "sysfs.h"
#include <fcntl.h>
#include <rdmadump/port_identity.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t rd_port_identity(const char *sysroot, const char *device, unsigned int port)
{
	int fd = rd_sysfs_open(O_RDONLY | O_DIRECTORY, "%s/sys/class/infiniband/%s/ports/%u",
		sysroot, device, port);
	struct stat st;
	uint64_t inode = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0)
		inode = st.st_ino;
	close(fd);
	return inode;
}
