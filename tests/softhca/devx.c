/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands over DEVX: QUERY_HCA_CAP, QUERY_ADAPTER and QUERY_RQ, as the kernel passes them
 * to the firmware (drivers/infiniband/hw/mlx5/devx.c; layouts: include/linux/mlx5/mlx5_ifc.h).
 */
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "softhca.h"

enum {
	QUERY_HCA_CAP = 0x100,
	QUERY_ADAPTER = 0x101,
	QUERY_RQ = 0x90b,
	HEADER = 16,
	CAP_BYTES = 4096,
	ADAPTER_BYTES = 256,
	PSID_AT = 240,
	TYPE_GENERAL = 0,
	TYPE_NIC_FLOW = 7,
	STATUS_BAD_PARAM = 0x03,
	RQ_CONTEXT_AT = 32,
	RQ_BYTES = 240,
	RQ_RST = 0,
	RQ_RDY = 1,
	RQ_ERR = 3,
};

/* Offsets count from the most significant bit. A bit without a capability: of Ethernet ports. */
static const struct {
	uint32_t type, bit, cap;
} bits[] = {
	{TYPE_GENERAL, 0x1a6, CAP_NO_FLOW_TABLE}, /* nic_flow_table */
	{TYPE_GENERAL, 0x1b7, 0},		  /* port_type, the lower of its two bits */
	{TYPE_GENERAL, 0x1d8, CAP_IB_PORT_SNIFFER},
	{TYPE_GENERAL, 0x21d, 0}, /* roce */
	{TYPE_NIC_FLOW, 0x002, CAP_SHARED_TIR},
	{TYPE_NIC_FLOW, 0x200, 0}, /* receive: ft_support */
	{TYPE_NIC_FLOW, 0x600, CAP_SNIFFER_RX},
	{TYPE_NIC_FLOW, 0x800, 0}, /* transmit: ft_support */
	{TYPE_NIC_FLOW, 0xc00, CAP_SNIFFER_TX},
};

static bool is_set(const struct hca_conf *conf, uint32_t cap)
{
	return cap ? !(conf->caps & cap) == (cap == CAP_NO_FLOW_TABLE) : !conf->port[0].ib;
}

static uint8_t query_hca_cap(
	const struct hca_conf *conf, uint32_t op_mod, uint8_t *cap, size_t capacity)
{
	uint32_t type = op_mod >> 1;

	if ((type != TYPE_GENERAL && type != TYPE_NIC_FLOW) || capacity < CAP_BYTES)
		return STATUS_BAD_PARAM;
	for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
		if (bits[i].type == type && is_set(conf, bits[i].cap))
			cap[bits[i].bit / 8] |= (uint8_t)(0x80 >> bits[i].bit % 8);
	if (type == TYPE_GENERAL)
		cap[0x1b8 / 8] = (uint8_t)conf->nports;
	return 0;
}

static uint8_t query_adapter(const struct hca_conf *conf, uint8_t *out, size_t capacity)
{
	if (capacity < ADAPTER_BYTES)
		return STATUS_BAD_PARAM;
	memcpy(out + PSID_AT, conf->board, strnlen(conf->board, 16));
	return 0;
}

/* Queries that the kernel lets through. Their responses are no state of the model. */
static const uint16_t queries[] = {0x754, 0x762, 0x76f, 0x770, 0x826};

static bool is_query(uint32_t opcode)
{
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		if (queries[i] == opcode)
			return true;
	return false;
}

static bool is_refused(const struct hca_conf *conf, uint32_t opcode)
{
	char text[16];

	snprintf(text, sizeof(text), "%x", opcode);
	return !strcmp(conf->fw_refuse, "all") || strstr(conf->fw_refuse, text);
}

static void refuse(uint8_t *out)
{
	out[0] = STATUS_BAD_PARAM;
	out[5] = 0x5a;
	out[6] = 0x17;
	out[7] = 0xc0;
}

/*
 * Byte i from the status and syndrome on is a function of i, opcode, op_mod and the arguments, so
 * that a test detects a field that is read at a wrong offset or from another command.
 */
static void query(
	const struct hca_conf *conf, const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
	uint32_t opcode = (uint32_t)in[0] << 8 | in[1], seed = opcode * 7 + in[7] * 29u;

	for (size_t i = 8; i < in_len; i++)
		seed += in[i] * 13u;
	for (size_t i = 8; conf->fw_pattern && i < (conf->fw_short ? HEADER : out_len); i++)
		out[i] = (uint8_t)(seed + i * 37 + i * i * 3);
}

/* 0: the firmware answered, perhaps with an error of its own in the first byte. */
int devx_general(
	const struct hca_conf *conf, const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
	uint32_t opcode, op_mod;

	if (in_len < HEADER || out_len < HEADER)
		return EINVAL;
	opcode = (uint32_t)in[0] << 8 | in[1];
	op_mod = (uint32_t)in[6] << 8 | in[7];
	memset(out, 0, out_len);
	if (opcode != QUERY_HCA_CAP && opcode != QUERY_ADAPTER && !is_query(opcode))
		return EINVAL;
	if (is_refused(conf, opcode))
		refuse(out);
	else if (opcode == QUERY_HCA_CAP)
		out[0] = query_hca_cap(conf, op_mod, out + HEADER, out_len - HEADER);
	else if (opcode == QUERY_ADAPTER)
		out[0] = query_adapter(conf, out + HEADER, out_len - HEADER);
	else
		query(conf, in, in_len, out, out_len);
	return 0;
}

static uint8_t rq_state(const struct qp *wq)
{
	if (wq->state == IBV_QPS_RESET)
		return RQ_RST;
	return wq->state == IBV_QPS_ERR ? RQ_ERR : RQ_RDY;
}

/* The kernel compares the number in the command with the object. */
int devx_query_rq(const struct hca_conf *conf, const struct qp *wq, const uint8_t *in,
	size_t in_len, uint8_t *out, size_t out_len)
{
	uint32_t rqn;

	if (in_len < HEADER || out_len < HEADER)
		return EINVAL;
	rqn = (uint32_t)in[9] << 16 | (uint32_t)in[10] << 8 | in[11];
	if (((uint32_t)in[0] << 8 | in[1]) != QUERY_RQ || rqn != wq->qpn)
		return EINVAL;
	memset(out, 0, out_len);
	if (is_refused(conf, QUERY_RQ) || out_len < RQ_CONTEXT_AT + RQ_BYTES) {
		refuse(out);
		return 0;
	}
	/* rlky, vsd and so on precede the state; flush_in_error_en and reserved bits follow it. */
	out[RQ_CONTEXT_AT] = 0x90;
	out[RQ_CONTEXT_AT + 1] = (uint8_t)(rq_state(wq) << 4 | 0x4);
	return 0;
}
