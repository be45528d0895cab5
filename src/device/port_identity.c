/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Identifies a port by its directory in sysfs. */
#include "sysfs.h"
#include <rdmadump/port_identity.h>

uint64_t rd_port_identity(const char *sysroot, const char *device, unsigned int port)
{
	struct stat st;

	return rd_sysfs_stat(&st, "%s/sys/class/infiniband/%s/ports/%u", sysroot, device, port)
		       ? 0
		       : st.st_ino;
}
