/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The real-time clock of an mlx5 device: mlx5dv_query_device(3). */
#include "verbs_clock.h"
#include <endian.h>
#include <infiniband/mlx5dv.h>

#define HAS_REAL_TIME (1U << 7) /* MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS, in rdma-core since 36 */

bool rd_clock_has_real_time(struct ibv_context *ctx)
{
	struct mlx5dv_context attr = {0};

	return mlx5dv_is_supported(ctx->device) && mlx5dv_query_device(ctx, &attr) == 0 &&
	       attr.flags & HAS_REAL_TIME;
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
