/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion channels and completion queues, by <rdma/ib_user_verbs.h> and <rdma/mlx5-abi.h>. */
#include "softhca.h"
#include <dlfcn.h>
#include <infiniband/verbs.h>

enum { CQE_MAX = 1 << 22, IB_CQ_MODERATE = 1 };

CMD(create_comp_channel)
{
	struct ib_uverbs_create_comp_channel_resp *resp = cmd->resp;
	struct event_fd *e = obj_new(ctx, OBJ_CHANNEL, sizeof(*e));

	if (!e)
		return ENOMEM;
	event_fd_open(e);
	if (e->user_fd < 0) {
		obj_free(&e->obj);
		return EMFILE;
	}
	event_fd_register(e);
	resp->fd = (uint32_t)e->user_fd;
	return 0;
}

static bool power_of_two(uint32_t v)
{
	return v && !(v & (v - 1));
}

CMD(create_cq)
{
	const struct ib_uverbs_create_cq *req = cmd->req;
	struct ib_uverbs_create_cq_resp *resp = cmd->resp;
	struct event_fd *e = NULL;
	struct mlx5_ib_create_cq drv;
	struct mlx5_ib_create_cq_resp drv_resp = {0};
	struct cq *cq;
	int rc;

	cmd_drv_in(cmd, &drv, sizeof(drv));
	if (!req->cqe || req->cqe > CQE_MAX || req->comp_vector >= 8 || !power_of_two(req->cqe + 1))
		return EINVAL;
	if ((drv.cqe_size != 64 && drv.cqe_size != 128) || !drv.buf_addr || !drv.db_addr)
		return EINVAL;
	if (!may_pin())
		return EPERM;
	if (drv.cqe_comp_en)
		return EOPNOTSUPP;
	if (req->comp_channel >= 0) {
		e = channel_from_fd(ctx, req->comp_channel);
		if (!e)
			return EBADF;
	}
	cq = obj_new(ctx, OBJ_CQ, sizeof(*cq));
	if (!cq)
		return ENOMEM;
	rc = clock_cq(cq, drv.flags);
	if (rc) {
		obj_free(&cq->obj);
		return rc;
	}
	cq->user_handle = req->user_handle;
	cq->buf = (uint8_t *)(uintptr_t)drv.buf_addr;
	cq->db = (volatile uint32_t *)(uintptr_t)drv.db_addr;
	cq->entries = req->cqe + 1;
	cq->cqe_size = drv.cqe_size;
	cq->cqn = ctx->hca->next_cqn++;
	cq->channel = e;
	cq->db[1] = 0xffffffff;
	if (e)
		e->obj.users++;
	LIST_INSERT_HEAD(&ctx->hca->cqs, cq, link);
	drv_resp.cqn = cq->cqn;
	cmd_drv_out(cmd, &drv_resp, sizeof(drv_resp));
	resp->cq_handle = cq->obj.handle;
	resp->cqe = req->cqe;
	hca_start(ctx->hca);
	return 0;
}

CMD(modify_cq)
{
	const struct ib_uverbs_ex_modify_cq *req = cmd->req;
	struct cq *cq = obj_get(ctx, OBJ_CQ, req->cq_handle);

	if (!cq || !(req->attr_mask & IB_CQ_MODERATE) || req->attr.cq_period > GATHER_US_MAX)
		return EINVAL;
	if (ctx->hca->conf->moderation == MODERATION_NONE)
		return EOPNOTSUPP;
	if (ctx->hca->conf->moderation == MODERATION_IGNORED)
		return 0;
	cq->gather_count = req->attr.cq_count;
	cq->gather_ns = req->attr.cq_period * UINT64_C(1000);
	return 0;
}

/* The consumer must acknowledge records that it has read; unread ones are removed. */
CMD(destroy_cq)
{
	const struct ib_uverbs_destroy_cq *req = cmd->req;
	struct ib_uverbs_destroy_cq_resp *resp = cmd->resp;
	struct cq *cq = obj_get(ctx, OBJ_CQ, req->cq_handle);

	if (!cq)
		return EINVAL;
	if (obj_busy(&cq->obj))
		return EBUSY;
	resp->comp_events_reported =
		cq->comp_sent - event_fd_withdraw(cq->channel, cq->user_handle,
					sizeof(struct ib_uverbs_comp_event_desc));
	resp->async_events_reported =
		cq->async_sent - event_fd_withdraw(ctx->async, cq->user_handle,
					 sizeof(struct ib_uverbs_async_event_desc));
	if (cq->channel)
		channel_release(cq->channel);
	LIST_REMOVE(cq, link);
	obj_free(&cq->obj);
	return 0;
}

/*
 * SOFTHCA_PLAIN_CQS: as with a provider that has no extended CQs, bnxt_re. Not in
 * ibv_open_device(), whose address says which libibverbs a program uses.
 */
EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	static __typeof__(&ibv_create_comp_channel) real;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ibv_create_comp_channel");
	if (getenv("SOFTHCA_PLAIN_CQS"))
		verbs_get_ctx(context)->create_cq_ex = NULL;
	return real(context);
}
