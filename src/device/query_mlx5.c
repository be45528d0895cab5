/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Features of a ConnectX: mlx5dv_query_device(3), and by DEVX the device's response to
 * QUERY_HCA_CAP and QUERY_ADAPTER (bit offsets: include/linux/mlx5/mlx5_ifc.h of Linux, MSB first).
 */
#include "info_parts.h"
#include "sysfs.h"
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

#define CMD_QUERY_HCA_CAP 0x100
#define CMD_QUERY_ADAPTER 0x101
#define CAP_GENERAL	  0
#define CAP_NIC_FLOW	  7
#define CAP_CURRENT	  1 /* else what could be configured */
#define HEADER		  16
#define CAP_BYTES	  4096
#define PSID_AT		  240 /* after the header: 32 bytes, then 208 vendor-specific bytes */
#define PSID_BYTES	  16

static const struct rd_bit_name flags[] = {{0, "CQE_V1"}, {2, "MPW"}, {3, "ENHANCED_MPW"},
	{4, "CQE_128B_COMP"}, {5, "CQE_128B_PAD"}, {6, "PACKET_BASED_CREDIT_MODE"},
	{7, "REAL_TIME_TS"}};
static const struct rd_bit_name cqe_formats[] = {{0, "HASH"}, {1, "CSUM"}, {2, "CSUM_STRIDX"}};

static void query_provider(struct ibv_context *context, struct rd_attrs *f)
{
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_CQE_COMPRESION |
						 MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS};

	if (mlx5dv_query_device(context, &dv))
		return;
	rd_attrs_bits(f, "flags", "mlx5 features", dv.flags, flags, RD_COUNT(flags));
	if (dv.comp_mask & MLX5DV_CONTEXT_MASK_CQE_COMPRESION) {
		rd_attrs_number(f, "cqe_compression_max", "compressed CQEs, longest run",
			dv.cqe_comp_caps.max_num);
		rd_attrs_bits(f, "cqe_compression_formats", "compressed CQEs, formats",
			dv.cqe_comp_caps.supported_format, cqe_formats, RD_COUNT(cqe_formats));
	}
	if (dv.comp_mask & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS)
		rd_attrs_number(f, "num_lag_ports", "ports in a LAG", dv.num_lag_ports);
}

/* Runs a command without input but op_mod. 0, or an errno; `out` has HEADER bytes in front. */
static int command(struct ibv_context *context, unsigned int opcode, unsigned int op_mod,
	uint8_t *out, size_t size)
{
	uint8_t in[HEADER] = {(uint8_t)(opcode >> 8), (uint8_t)opcode, 0, 0, 0, 0,
		(uint8_t)(op_mod >> 8), (uint8_t)op_mod};
	int rc;

	memset(out, 0, size);
	rc = mlx5dv_devx_general_cmd(context, in, sizeof(in), out, size);
	if (rc)
		return rc;
	return out[0] ? EREMOTEIO : 0;
}

static enum rd_answer bit(const uint8_t *cap, unsigned int at)
{
	return cap[at / 8] >> (7 - at % 8) & 1 ? RD_ANSWER_YES : RD_ANSWER_NO;
}

/* The meaning of capability bits. */
static const struct question {
	unsigned int type, bit;
	size_t answer; /* offset in struct rd_mlx5_caps */
} questions[] = {
	{CAP_GENERAL, 0x1a6, offsetof(struct rd_mlx5_caps, nic_flow_table)},
	{CAP_GENERAL, 0x1d8, offsetof(struct rd_mlx5_caps, ib_port_sniffer)},
	{CAP_NIC_FLOW, 0x002, offsetof(struct rd_mlx5_caps, shared_tir)},
	{CAP_NIC_FLOW, 0x600, offsetof(struct rd_mlx5_caps, sniffer_rx)},
	{CAP_NIC_FLOW, 0xc00, offsetof(struct rd_mlx5_caps, sniffer_tx)},
};

static void take_answers(struct rd_mlx5_caps *caps, unsigned int type, const uint8_t *cap)
{
	for (size_t i = 0; i < RD_COUNT(questions); i++) {
		enum rd_answer a = bit(cap, questions[i].bit);

		if (questions[i].type == type)
			memcpy((uint8_t *)caps + questions[i].answer, &a, sizeof(a));
	}
}

static void query_caps(struct ibv_context *context, bool devx, struct rd_mlx5_caps *caps)
{
	static const unsigned int types[] = {CAP_GENERAL, CAP_NIC_FLOW};
	uint8_t out[HEADER + CAP_BYTES];
	char psid[PSID_BYTES + 1];

	for (size_t i = 0; i < RD_COUNT(types); i++) {
		int rc = command(
			context, CMD_QUERY_HCA_CAP, types[i] << 1 | CAP_CURRENT, out, sizeof(out));

		if (rc) {
			snprintf(caps->reason, sizeof(caps->reason),
				"QUERY_HCA_CAP over DEVX%s: %s",
				devx ? "" : " (the context has no DEVX)", strerror(rc));
			return;
		}
		take_answers(caps, types[i], out + HEADER);
	}
	caps->asked = true;
	if (command(context, CMD_QUERY_ADAPTER, 0, out, HEADER + 256))
		return;
	snprintf(psid, sizeof(psid), "%.*s", PSID_BYTES, (const char *)out + HEADER + PSID_AT);
	rd_text_clean(caps->psid, sizeof(caps->psid), psid);
}

void rd_mlx5_query(struct ibv_context *context, bool devx, struct rd_info *info)
{
	if (!mlx5dv_is_supported(context->device))
		return;
	query_provider(context, &info->provider_attrs);
	query_caps(context, devx, &info->mlx5);
}
