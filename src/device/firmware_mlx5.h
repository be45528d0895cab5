/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries to the firmware of a ConnectX over DEVX: the table of firmware_mlx5.def. */
#ifndef RDMADUMP_DEVICE_FIRMWARE_MLX5_H
#define RDMADUMP_DEVICE_FIRMWARE_MLX5_H

#include <infiniband/verbs.h>
#include <rdmadump/counters.h>
#include <rdmadump/info.h>

struct rd_mlx5_command {
	const char *name, *meaning;
	uint16_t opcode, op_mod;
	unsigned int in_bytes, out_bytes;
	unsigned int arg_bit, arg; /* the argument's last bit in the request, its value */
};

struct rd_mlx5_field {
	const char *command, *name, *meaning;
	unsigned int bit, width; /* in the response, the most significant bit first */
	enum { RD_FIELD_NUMBER, RD_FIELD_HEX, RD_FIELD_BYTES } kind;
	bool counter;
};

/* Each ended by a row without a name. */
extern const struct rd_mlx5_command rd_mlx5_commands[];
extern const struct rd_mlx5_field rd_mlx5_fields[];

/* Appends those fields of a response that are within its `size` bytes. */
void rd_mlx5_decode(struct rd_attrs *attrs, const struct rd_mlx5_command *command,
	const uint8_t *out, size_t size);
/* The same for its counters, named "device/COMMAND/FIELD". -1 if out of memory. */
int rd_mlx5_decode_counters(struct rd_counters *counters, const struct rd_mlx5_command *command,
	const uint8_t *out, size_t size);

/*
 * Sends all commands of the table, and stores in info->commands the response to each, or why it was
 * refused. -1 if out of memory.
 */
int rd_mlx5_commands_run(struct ibv_context *context, struct rd_info *info);

#endif
