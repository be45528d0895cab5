/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devlink (include/uapi/linux/devlink.h): what firmware the device runs and stores. */
#ifndef RDMADUMP_DEVICE_DEVLINK_H
#define RDMADUMP_DEVICE_DEVLINK_H

#include "netlink.h"
#include <rdmadump/info.h>

/* Appends versions and serial number of a PCI device; nothing without devlink. */
void rd_devlink_firmware(struct rd_info *info);

/* Parses a reply of `len` bytes; -1 if it is another message or malformed. */
int rd_devlink_parse_info(const struct nlmsghdr *msg, size_t len, void *info); /* struct rd_info */

#endif
