/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What info.c collects, part by part. */
#pragma once

#include <infiniband/verbs.h>
#include <rdmadump/counters.h>
#include <rdmadump/info.h>

/* --- drivers.c: a device's kernel modules --- */

/* The NIC's module and the RDMA module; a name is "" if there is none. */
void rd_modules_load(struct rd_module modules[2], const struct rd_device *device, const char *root);

/* libibverbs' name of the user-space driver, "" if unknown. */
const char *rd_provider_name(const struct rd_device *device);

/* --- roce.c: RoCE settings --- */

void rd_roce_settings(struct rd_attrs *f, const struct rd_device *device,
	const struct rd_port *port, const char *root);

/* --- query.c: limits and features of an opened device --- */

/* Opens the device and fills in what verbs know of it; if it cannot be opened, closed_why. */
void rd_query_verbs(struct rd_info *info);

/* firmware_mlx5.c: opens the device with DEVX. NULL, and *devx false, if it is not an mlx5 device
 * or DEVX is refused. The caller closes the context. */
struct ibv_context *rd_mlx5_open(struct ibv_device *device, void *devx);
/* query_mlx5.c */
void rd_mlx5_query(struct ibv_context *context, bool devx, struct rd_info *info);

/* Counters of a ConnectX's firmware over DEVX: the table of firmware_mlx5.def. */

struct rd_mlx5_command {
	const char *name;
	uint16_t opcode;
	unsigned int in_bytes, out_bytes;
};

struct rd_mlx5_field {
	const char *command, *name;
	unsigned int bit, width; /* in the response, the most significant bit first */
};

/* Each ended by a row without a name. */
extern const struct rd_mlx5_command rd_mlx5_commands[];
extern const struct rd_mlx5_field rd_mlx5_fields[];

/*
 * Appends those fields of a response that are within its `size` bytes, named
 * "device/COMMAND/FIELD". -1 if out of memory.
 */
int rd_mlx5_decode_counters(struct rd_counters *counters, const struct rd_mlx5_command *command,
	const uint8_t *out, size_t size);

/* The statistics of a netdev's driver, as 'ethtool -S' shows them. */

/*
 * Appends the statistics of counters->netdev; without `all` those that concern RDMA and the wire,
 * and none of single queues. Nothing if there is no driver or it has none. -1 only if out of
 * memory.
 */
int rd_ethtool_load(struct rd_counters *counters, bool all);
