/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One port of a device, for discovery.c. */
#ifndef RDMADUMP_DEVICE_PORT_H
#define RDMADUMP_DEVICE_PORT_H

#include <rdmadump/device.h>

/*
 * Fills port->num's other fields. `base` is the device's directory in sysfs, below `root`. The
 * device's own fields and its number of ports are set by then. `glance`: read the first GID only.
 * -1 if out of memory.
 */
int rd_port_load(struct rd_port *port, const struct rd_device *device, const char *root,
	const char *base, bool glance);

#endif
