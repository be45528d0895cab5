/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The raw completion queue entries of a ConnectX: mlx5dv_init_obj(3). */
#include "sniffer.h"
#include <infiniband/mlx5dv.h>

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
