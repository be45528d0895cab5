/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of a ConnectX's firmware over DEVX: the table of firmware_mlx5.def. */
#ifndef RDMADUMP_DEVICE_FIRMWARE_MLX5_H
#define RDMADUMP_DEVICE_FIRMWARE_MLX5_H

#include <infiniband/verbs.h>
#include <rdmadump/counters.h>

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

#endif
