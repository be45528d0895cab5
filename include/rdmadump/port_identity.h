/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a port's name still belongs to the same device. */
#ifndef RDMADUMP_PORT_IDENTITY_H
#define RDMADUMP_PORT_IDENTITY_H

#include <stdint.h>

/*
 * The inode of the port's directory in sysfs; 0: there is none. A device keeps it under another
 * name; one that is created again, as when its driver is reloaded, has another inode.
 */
uint64_t rd_port_identity(const char *sysroot, const char *device, unsigned int port);

#endif
