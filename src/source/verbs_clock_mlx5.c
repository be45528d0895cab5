/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clocks of an mlx5 device: mlx5dv_get_clock_info(3), mlx5dv_query_device(3). */
#include "verbs_clock.h"
#include <endian.h>
#include <infiniband/mlx5dv.h>

bool rd_clock_has_real_time(struct ibv_context *ctx)
{
	struct mlx5dv_context attr = {0};

	return mlx5dv_is_supported(ctx->device) && mlx5dv_query_device(ctx, &attr) == 0 &&
	       attr.flags & MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS;
}

/*
 * The page with the counter has the real-time clock too: internal_timer_h and real_time_h of struct
 * mlx5_init_seg (Linux, include/linux/mlx5/device.h), high word first, then ns.
 */
#define REAL_TIME_WORD 16

bool rd_clock_read_real_time(struct ibv_context *ctx, uint64_t *ns)
{
	struct mlx5dv_context attr = {.comp_mask = MLX5DV_CONTEXT_MASK_HCA_CORE_CLOCK};
	const volatile __be32 *at;
	uint32_t seconds, again, fraction;

	if (!mlx5dv_is_supported(ctx->device) || mlx5dv_query_device(ctx, &attr) ||
		!(attr.comp_mask & MLX5DV_CONTEXT_MASK_HCA_CORE_CLOCK) || !attr.hca_core_clock)
		return false;
	at = (const volatile __be32 *)attr.hca_core_clock + REAL_TIME_WORD;
	seconds = be32toh(at[0]);
	fraction = be32toh(at[1]);
	again = be32toh(at[0]);
	if (again != seconds)
		fraction = be32toh(at[1]);
	*ns = (uint64_t)again * 1000000000U + fraction;
	/* A device that does not have it shows zeros. */
	return again && fraction < 1000000000U;
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
