/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The raw completion queue entries of a ConnectX: mlx5dv_init_obj(3). */
#include "sniffer.h"
#include <infiniband/mlx5dv.h>

#define CQE_BYTES 64 /* a 128-byte entry ends with a 64-byte one */
#define FORMAT                                                                                     \
	0x0cU /* bits of op_own: all set in an entry that is followed by an array of mini-CQEs */

const void *sniffer_cqes(struct sniffer *s, size_t *n)
{
	struct mlx5dv_cq cq = {0};
	struct mlx5dv_obj obj = {.cq = {.in = s->cq, .out = &cq}};

	*n = 0;
	if (!s->cq || !mlx5dv_is_supported(s->ctx->device) || mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ))
		return NULL;
	*n = (size_t)cq.cqe_cnt * cq.cqe_size;
	return cq.buf;
}

bool sniffer_is_compressed(struct sniffer *s)
{
	struct mlx5dv_cq cq = {0};
	struct mlx5dv_obj obj = {.cq = {.in = s->cq, .out = &cq}};
	bool is = false;

	if (!s->cq || !mlx5dv_is_supported(s->ctx->device) || mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ))
		return false;
	for (uint32_t i = 0; i < cq.cqe_cnt; i++) {
		const struct mlx5_cqe64 *cqe =
			(const void *)((const uint8_t *)cq.buf + (size_t)(i + 1) * cq.cqe_size -
				       CQE_BYTES);

		is |= cqe->op_own >> 4 == MLX5_CQE_RESP_SEND && (cqe->op_own & FORMAT) == FORMAT;
	}
	return is;
}
