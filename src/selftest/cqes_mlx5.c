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

enum next { NEXT_NONE, NEXT_PLAIN, NEXT_COMPRESSED };

/* What libibverbs would read next: it takes an array of mini-CQEs for completions, and may crash.
 */
static enum next look(struct ibv_cq *in)
{
	struct mlx5dv_cq cq = {0};
	struct mlx5dv_obj obj = {.cq = {.in = in, .out = &cq}};
	uint32_t index;
	uint8_t op_own;

	if (!mlx5dv_is_supported(in->context->device) || mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ))
		return NEXT_PLAIN;
	index = be32toh(cq.dbrec[0]);
	op_own = __atomic_load_n((const uint8_t *)cq.buf +
					 (size_t)((index & (cq.cqe_cnt - 1)) + 1) * cq.cqe_size - 1,
		__ATOMIC_ACQUIRE);
	if ((op_own & MLX5_CQE_OWNER_MASK) != !!(index & cq.cqe_cnt) ||
		op_own >> 4 == MLX5_CQE_INVALID)
		return NEXT_NONE;
	return op_own >> 4 == MLX5_CQE_RESP_SEND && (op_own & FORMAT) == FORMAT ? NEXT_COMPRESSED
										: NEXT_PLAIN;
}

bool cqes_readable(struct ibv_cq *cq, bool *compressed)
{
	enum next next = look(cq);

	*compressed |= next == NEXT_COMPRESSED;
	return next == NEXT_PLAIN;
}

/* One by one: the entry after those that were looked at may be written meanwhile. */
int cqes_poll(struct ibv_cq *cq, int most, struct ibv_wc *wc, bool *compressed)
{
	int n = 0, rc = 1;

	while (n < most && rc == 1 && cqes_readable(cq, compressed)) {
		rc = ibv_poll_cq(cq, 1, &wc[n]);
		n += rc == 1;
	}
	return n || rc == 1 ? n : rc;
}
