/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clocks of an mlx5 device: mlx5dv_get_clock_info(3), mlx5dv_query_device(3). */
#include "verbs_clock.h"
#include <infiniband/mlx5dv.h>

bool verbs_mlx5_real_time(struct ibv_context *ctx)
{
	struct mlx5dv_context attr = {0};

	return mlx5dv_is_supported(ctx->device) && mlx5dv_query_device(ctx, &attr) == 0 &&
	       attr.flags & MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS;
}

bool verbs_mlx5_clock_line(struct ibv_context *ctx, struct clock_line *line, unsigned int *unused)
{
	struct mlx5dv_clock_info info;

	if (!mlx5dv_is_supported(ctx->device) || mlx5dv_get_clock_info(ctx, &info) || !info.mult ||
		!info.mask || info.shift > 63)
		return false;
	*line = (struct clock_line){.ticks = info.last_cycles,
		.ns = info.nsec + (info.frac >> info.shift),
		.rate = info.shift <= 32 ? (uint64_t)info.mult << (32 - info.shift)
					 : (uint64_t)info.mult >> (info.shift - 32)};
	*unused = (unsigned int)__builtin_clzll(info.mask);
	return true;
}

uint64_t verbs_mlx5_clock_period(struct ibv_context *ctx)
{
	struct mlx5dv_context attr = {.comp_mask = MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE};

	if (!mlx5dv_is_supported(ctx->device) || mlx5dv_query_device(ctx, &attr) ||
		!(attr.comp_mask & MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE))
		return 0;
	return attr.max_clock_info_update_nsec;
}
