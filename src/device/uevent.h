/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parser of kobject uevents. */
#ifndef RDMADUMP_DEVICE_UEVENT_H
#define RDMADUMP_DEVICE_UEVENT_H

#include "device_changes.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * Parses one uevent of `len` bytes ("add@/devices/...", then KEY=VALUE, each ended by NUL). False
 * if it is not about an RDMA device that was added, removed or renamed.
 */
bool rd_uevent_parse(const char *bytes, size_t len, struct device_change *change);

#endif
