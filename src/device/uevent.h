/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parser of kobject uevents. */
#ifndef RDMADUMP_DEVICE_UEVENT_H
#define RDMADUMP_DEVICE_UEVENT_H

#include <rdmadump/event.h>
#include <stddef.h>

/*
 * Parses one uevent of `len` bytes ("add@/devices/...", then KEY=VALUE, each ended by NUL). False
 * if it does not concern an RDMA device.
 */
bool rd_uevent_parse(const char *bytes, size_t len, struct rd_event *event);

#endif
