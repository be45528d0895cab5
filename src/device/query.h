/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Limits and features of an opened device, for info.c. */
#ifndef RDMADUMP_DEVICE_QUERY_H
#define RDMADUMP_DEVICE_QUERY_H

#include <infiniband/verbs.h>
#include <rdmadump/info.h>

/*
 * Opens the device and fills in all fields of info that verbs provide; if it cannot be opened,
 * closed_why. -1 if out of memory.
 */
int rd_query_verbs(struct rd_info *info);

/* firmware_mlx5.c: opens the device with DEVX. NULL, and *devx false, if it is not an mlx5 device
 * or DEVX is refused. The caller closes the context. */
struct ibv_context *rd_mlx5_open(struct ibv_device *device, void *devx);
/* query_mlx5.c. -1 if out of memory. */
int rd_mlx5_query(struct ibv_context *context, bool devx, struct rd_info *info);
/*
 * Opens the device and queries its firmware: whether the receive queue of a raw packet QP can have
 * its own counter set (modify_rq_counter_set_id). Unknown if it is not an mlx5 device, or DEVX is
 * refused.
 */
enum rd_answer rd_mlx5_counts_per_queue(const char *device);

#endif
