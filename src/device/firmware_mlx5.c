/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters that only the firmware has: queries that a DEVX context may send
 * (mlx5dv_devx_general_cmd(3)). The commands and the fields of their responses are in
 * firmware_mlx5.def.
 */
#include "info_parts.h"
#include "sysfs.h"
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <rdmadump/bytes.h>
#include <rdmadump/verbs.h>

#define IN_MAX	32
#define OUT_MAX 0x210

/* clang-format off */
#define COUNT(...)
#define GAUGE(...)
#define COMMAND(name, opcode, in_bytes, out_bytes) {#name, opcode, in_bytes, out_bytes},
const struct rd_mlx5_command rd_mlx5_commands[] = {
#include "counters/firmware_mlx5.def"
	{0},
};
#undef COUNT
#undef GAUGE
#undef COMMAND

#define COMMAND(...)
#define COUNT(command, name, bit, width, unit, severity, meaning) {#command, name, bit, width},
#define GAUGE(command, name, bit, width, unit, meaning)		  {#command, name, bit, width},
const struct rd_mlx5_field rd_mlx5_fields[] = {
#include "counters/firmware_mlx5.def"
	{0},
};
/* clang-format on */

static bool is_of(
	const struct rd_mlx5_field *field, const struct rd_mlx5_command *command, size_t size)
{
	return !strcmp(field->command, command->name) && field->bit + field->width <= size * 8;
}

static uint64_t number_of(const struct rd_mlx5_field *field, const uint8_t *out)
{
	uint64_t n = 0;

	for (unsigned int i = field->bit; i < field->bit + field->width; i++)
		n = n << 1 | (out[i / 8] >> (7 - i % 8) & 1);
	return n;
}

int rd_mlx5_decode_counters(struct rd_counters *counters, const struct rd_mlx5_command *command,
	const uint8_t *out, size_t size)
{
	for (const struct rd_mlx5_field *f = rd_mlx5_fields; f->name; f++)
		if (is_of(f, command, size) && rd_counters_add(counters, number_of(f, out),
						       "device/%s/%s", f->command, f->name) < 0)
			return -1;
	return 0;
}

struct ibv_context *rd_mlx5_open(struct ibv_device *device, void *devx)
{
	struct mlx5dv_context_attr attr = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};
	struct ibv_context *context = NULL;

	if (mlx5dv_is_supported(device))
		context = mlx5dv_open_device(device, &attr);
	*(bool *)devx = context != NULL;
	return context;
}

/* Returns 0 or an errno. The firmware's status and syndrome stay 0 where the kernel keeps them. */
static int command_run(struct ibv_context *context, const struct rd_mlx5_command *c,
	uint8_t out[static OUT_MAX], struct rd_firmware_refusal *refusal)
{
	uint8_t in[IN_MAX] = {(uint8_t)(c->opcode >> 8), (uint8_t)c->opcode};
	size_t in_bytes = c->in_bytes < IN_MAX ? c->in_bytes : IN_MAX;

	memset(out, 0, OUT_MAX);
	refusal->error = mlx5dv_devx_general_cmd(context, in, in_bytes, out, c->out_bytes);
	refusal->status = out[0];
	refusal->syndrome = rd_be32(out + 4);
	if (!refusal->error && refusal->status)
		refusal->error = EREMOTEIO;
	return refusal->error;
}

static int load_counters(struct rd_counters *counters, struct ibv_context *context)
{
	uint8_t out[OUT_MAX];
	int ret = 0;

	for (const struct rd_mlx5_command *c = rd_mlx5_commands; c->name && !ret; c++) {
		struct rd_firmware_refusal refusal = {.command = c->name};

		if (!command_run(context, c, out, &refusal))
			ret = rd_mlx5_decode_counters(counters, c, out, c->out_bytes);
		else if (counters->n_refusals < RD_REFUSALS_MAX)
			counters->refusal[counters->n_refusals++] = refusal;
	}
	return ret;
}

int rd_counters_load_firmware(struct rd_counters *counters, struct rd_error *err)
{
	struct ibv_context *context;
	struct rd_error why;
	bool devx = false;
	int ret = 0;

	if (strcmp(counters->driver, "mlx5_core") != 0)
		return 0;
	if (rd_verbs_device_open(&context, counters->device, rd_mlx5_open, &devx, &why) < 0) {
		rd_text_clean(counters->not_asked, sizeof(counters->not_asked), why.text);
		return 0;
	}
	if (devx)
		ret = load_counters(counters, context);
	else
		snprintf(counters->not_asked, sizeof(counters->not_asked),
			"the device allows no DEVX");
	ibv_close_device(context);
	if (!ret)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot keep the counters of '%s'",
		counters->device);
}
