/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RoCE settings, for info.c. */
#ifndef RDMADUMP_DEVICE_ROCE_H
#define RDMADUMP_DEVICE_ROCE_H

#include <rdmadump/info.h>

void rd_roce_settings(struct rd_attrs *f, const struct rd_device *device,
	const struct rd_port *port, const char *root);

#endif
