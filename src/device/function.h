/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which function of an adapter a device is, for discovery.c. */
#ifndef RDMADUMP_DEVICE_FUNCTION_H
#define RDMADUMP_DEVICE_FUNCTION_H

#include <rdmadump/device.h>

/*
 * Fills in device->function, ->representors, ->old_switchdev and ->unsure_switchdev. `root` is the
 * prefix of the system's files ("" for the running system), `base` the device's directory in sysfs.
 */
void rd_function_load(struct rd_device *device, const char *root, const char *base);

/* Parses a netdev's phys_port_name; -1 if it does not name a function. */
int rd_representor_parse(const char *name, struct rd_representor *rep);

#endif
