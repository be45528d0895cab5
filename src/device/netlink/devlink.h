/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Devlink (include/uapi/linux/devlink.h, generic netlink families "devlink" and "mlxdevm"): which
 * function a port represents, and what firmware the device runs and stores.
 */
#ifndef RDMADUMP_DEVICE_DEVLINK_H
#define RDMADUMP_DEVICE_DEVLINK_H

#include "netlink.h"
#include <rdmadump/info.h>

/* Adds the representors that the kernel lists in either family; none if it has neither. */
void rd_devlink_representors(struct rd_devices *devices);
/* Appends versions and serial number of a PCI device; nothing without devlink. */
void rd_devlink_firmware(struct rd_info *info);

struct rd_devlink_port {
	char device[32];		  /* "0000:3b:00.0" */
	struct rd_representor represents; /* kind RD_FUNCTION_UNKNOWN: of no known function */
};
/* Parsers of replies of `len` bytes; -1 if it is another message or malformed. */
int rd_devlink_parse_port(const struct nlmsghdr *msg, size_t len, struct rd_devlink_port *port);
int rd_devlink_parse_info(const struct nlmsghdr *msg, size_t len, void *info); /* struct rd_info */

#endif
