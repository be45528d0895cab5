/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of a work queue. No verb reads it; on mlx5 the firmware command QUERY_RQ does, over
 * DEVX (layouts: include/linux/mlx5/mlx5_ifc.h of Linux; checks: devx_is_valid_obj_id() of
 * mlx5_ib).
 */
#include "verbs_port.h"
#include <infiniband/mlx5dv.h>

#define CMD_QUERY_RQ   0x90b
#define IN_BYTES       16
#define OUT_BYTES      272 /* header, 24 bytes reserved, 240 of struct mlx5_ifc_rqc_bits */
#define STATE_AT       33  /* the upper four bits */
#define STATE_READY    1
#define STATE_IN_ERROR 3

enum verbs_state verbs_wq_state(const struct verbs_queue *q)
{
	uint32_t rqn = q->wq->wq_num;
	const uint8_t in[IN_BYTES] = {CMD_QUERY_RQ >> 8, CMD_QUERY_RQ & 0xff,
		[9] = rqn >> 16 & 0xff, [10] = rqn >> 8 & 0xff, [11] = rqn & 0xff};
	uint8_t out[OUT_BYTES] = {0};

	/* Refused without DEVX: by the kernel with an errno, by the firmware with a status. */
	if (!mlx5dv_is_supported(q->port->ctx->device) ||
		mlx5dv_devx_wq_query(q->wq, in, sizeof(in), out, sizeof(out)) || out[0])
		return VERBS_STATE_UNKNOWN;
	switch (out[STATE_AT] >> 4) {
	case STATE_READY:
		return VERBS_STATE_READY;
	case STATE_IN_ERROR:
		return VERBS_STATE_ERROR;
	default:
		return VERBS_STATE_UNKNOWN;
	}
}
