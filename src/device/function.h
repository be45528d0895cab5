/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which function of an adapter a device is, for discovery.c. */
#ifndef RDMADUMP_DEVICE_FUNCTION_H
#define RDMADUMP_DEVICE_FUNCTION_H

#include <rdmadump/device.h>

/*
 * Fills device->function, ->representors and ->old_switchdev. `root` is where the system's files
 * begin ("" for the running one), `base` the device's directory in sysfs.
 */
void rd_function_load(struct rd_device *device, const char *root, const char *base);

/* A netdev's phys_port_name; -1 if it says nothing about functions. */
int rd_representor_parse(const char *name, struct rd_representor *rep);

#endif
