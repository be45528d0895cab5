/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device's kernel modules, for info.c. */
#ifndef RDMADUMP_DEVICE_DRIVERS_H
#define RDMADUMP_DEVICE_DRIVERS_H

#include <rdmadump/info.h>

/* The NIC's module and the RDMA module; a name is "" if there is none. */
void rd_modules_load(struct rd_module modules[2], const struct rd_device *device, const char *root);

/* libibverbs' name of the user-space driver, "" if unknown. */
const char *rd_provider_name(const struct rd_device *device);

#endif
