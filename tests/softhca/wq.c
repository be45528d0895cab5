/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work queues and their indirection tables, by <rdma/ib_user_verbs.h> and <rdma/mlx5-abi.h>. A work
 * queue is a queue pair of which there is only the receive queue.
 */
#include "softhca.h"

enum { TABLE_LOG_MAX = 11, EVERY = 16, FCS = 4 };

/* The state of the receive queue that each state of a work queue is. */
static const uint32_t states[] = {
	[IBV_WQS_RESET] = IBV_QPS_RESET,
	[IBV_WQS_RDY] = IBV_QPS_RTR,
	[IBV_WQS_ERR] = IBV_QPS_ERR,
};

bool wq_loses(const struct hca *h, struct qp *rq)
{
	return rq->is_wq && h->conf->work_queues == WQ_LOSSY && ++rq->wq_frames % EVERY == 0;
}

const struct frame *wq_shape(
	const struct hca *h, struct qp *rq, const struct frame *f, struct frame *other, uint8_t *to)
{
	bool change = h->conf->work_queues == WQ_CHANGES && ++rq->wq_frames % EVERY == 0;

	if (!rq->is_wq || f->len > WQ_FRAME_MAX - FCS ||
		(!change && h->conf->work_queues != WQ_LONGER))
		return f;
	memcpy(to, f->data, f->len);
	memset(to + f->len, 0, FCS);
	*other = *f;
	other->data = to;
	if (change)
		to[f->len - 1] ^= 0x55;
	if (h->conf->work_queues == WQ_LONGER)
		other->len += FCS;
	return other;
}

static int wq_check(const struct hca *h, const struct ib_uverbs_ex_create_wq *req,
	const struct mlx5_ib_create_wq *drv)
{
	if (h->conf->no_rss || req->wq_type != IBV_WQT_RQ || req->create_flags)
		return EOPNOTSUPP;
	if (req->comp_mask || drv->comp_mask || !drv->db_addr || !drv->buf_addr ||
		!drv->rq_wqe_count || drv->rq_wqe_count > h->conf->wqes ||
		drv->rq_wqe_count & (drv->rq_wqe_count - 1) || drv->rq_wqe_shift < 4 ||
		drv->rq_wqe_shift > 9)
		return EINVAL;
	return 0;
}

CMD(create_wq)
{
	const struct ib_uverbs_ex_create_wq *req = cmd->req;
	struct ib_uverbs_ex_create_wq_resp *resp = cmd->resp;
	struct mlx5_ib_create_wq_resp drv_resp = {.response_length = sizeof(drv_resp)};
	struct mlx5_ib_create_wq drv;
	struct pd *pd;
	struct cq *cq;
	struct qp *wq;
	int rc;

	resp->response_length = sizeof(*resp);
	cmd_drv_in(cmd, &drv, sizeof(drv));
	rc = wq_check(ctx->hca, req, &drv);
	if (rc)
		return rc;
	pd = obj_get(ctx, OBJ_PD, req->pd_handle);
	cq = obj_get(ctx, OBJ_CQ, req->cq_handle);
	if (!pd || !cq)
		return EINVAL;
	wq = obj_new(ctx, OBJ_WQ, sizeof(*wq));
	if (!wq)
		return ENOMEM;
	wq->user_handle = req->user_handle;
	wq->pd = pd;
	wq->recv_cq = cq;
	wq->qpn = ctx->hca->next_qpn++ & 0xffffff;
	wq->uidx = drv.user_index;
	wq->type = IBV_QPT_RAW_PACKET;
	wq->state = IBV_QPS_RESET;
	wq->rq = (uint8_t *)(uintptr_t)drv.buf_addr;
	wq->db = (volatile uint32_t *)(uintptr_t)drv.db_addr;
	wq->rq_count = drv.rq_wqe_count;
	wq->rq_shift = drv.rq_wqe_shift;
	wq->is_wq = true;
	pd->obj.users++;
	cq->obj.users++;
	LIST_INIT(&wq->flows);
	LIST_INSERT_HEAD(&ctx->hca->qps, wq, link);
	resp->wq_handle = wq->obj.handle;
	resp->max_wr = req->max_wr;
	resp->max_sge = req->max_sge;
	resp->wqn = wq->qpn;
	cmd_drv_out(cmd, &drv_resp, sizeof(drv_resp));
	return 0;
}

/* Whatever is in error goes through RESET before it is ready again. */
static bool transition_allowed(uint32_t from, uint32_t to)
{
	return from == to || to == IBV_QPS_RESET || (from == IBV_QPS_RESET && to == IBV_QPS_RTR) ||
	       (from == IBV_QPS_RTR && to == IBV_QPS_ERR);
}

CMD(modify_wq)
{
	const struct ib_uverbs_ex_modify_wq *req = cmd->req;
	uint32_t to;
	struct qp *wq = obj_get(ctx, OBJ_WQ, req->wq_handle);

	if (!wq || !req->attr_mask || req->attr_mask >= IBV_WQ_ATTR_RESERVED ||
		req->wq_state > IBV_WQS_ERR || req->curr_wq_state > IBV_WQS_ERR)
		return EINVAL;
	if (req->attr_mask & IBV_WQ_ATTR_FLAGS)
		return EOPNOTSUPP;
	if (req->attr_mask & IBV_WQ_ATTR_CURR_STATE && states[req->curr_wq_state] != wq->state)
		return EINVAL;
	if (!(req->attr_mask & IBV_WQ_ATTR_STATE))
		return 0;
	to = states[req->wq_state];
	if (!transition_allowed(wq->state, to))
		return EINVAL;
	if (to == IBV_QPS_ERR && wq->state != IBV_QPS_ERR)
		qp_to_error(ctx->hca, wq);
	wq->state = to;
	if (to == IBV_QPS_RESET) {
		wq->rq_head = wq->rq_ready = 0;
		wq->halted = false;
	}
	hca_retarget(ctx->hca);
	return 0;
}

CMD(destroy_wq)
{
	const struct ib_uverbs_ex_destroy_wq *req = cmd->req;
	struct ib_uverbs_ex_destroy_wq_resp *resp = cmd->resp;
	struct qp *wq;

	resp->response_length = sizeof(*resp);
	wq = obj_get(ctx, OBJ_WQ, req->wq_handle);
	if (!wq || req->comp_mask)
		return EINVAL;
	if (obj_busy(&wq->obj))
		return EBUSY;
	resp->events_reported = wq->async_sent - event_fd_withdraw(ctx->async, wq->user_handle,
							 sizeof(struct ib_uverbs_async_event_desc));
	wq->pd->obj.users--;
	wq->recv_cq->obj.users--;
	LIST_REMOVE(wq, link);
	obj_free(&wq->obj);
	return 0;
}

CMD(create_table)
{
	const struct ib_uverbs_ex_create_rwq_ind_table *req = cmd->req;
	struct ib_uverbs_ex_create_rwq_ind_table_resp *resp = cmd->resp;
	struct table *t;
	uint32_t n;

	resp->response_length = sizeof(*resp);
	if (ctx->hca->conf->no_rss)
		return EOPNOTSUPP;
	if (req->comp_mask || req->log_ind_tbl_size > TABLE_LOG_MAX)
		return EINVAL;
	n = 1u << req->log_ind_tbl_size;
	if (ctx->hca->conf->table && n > ctx->hca->conf->table)
		return EINVAL;
	if (cmd->in_len < sizeof(*req) + n * sizeof(uint32_t))
		return EINVAL;
	t = obj_new(ctx, OBJ_TABLE, sizeof(*t) + n * sizeof(struct qp *));
	if (!t)
		return ENOMEM;
	t->log_size = req->log_ind_tbl_size;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t handle;

		memcpy(&handle, cmd->in + sizeof(*req) + i * sizeof(handle), sizeof(handle));
		t->wq[i] = obj_get(ctx, OBJ_WQ, handle);
		if (!t->wq[i]) {
			obj_free(&t->obj);
			return EINVAL;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		t->wq[i]->obj.users++;
	resp->ind_tbl_handle = resp->ind_tbl_num = t->obj.handle;
	return 0;
}

CMD(destroy_table)
{
	const struct ib_uverbs_ex_destroy_rwq_ind_table *req = cmd->req;
	struct table *t = obj_get(ctx, OBJ_TABLE, req->ind_tbl_handle);

	if (!t || req->comp_mask)
		return EINVAL;
	if (obj_busy(&t->obj))
		return EBUSY;
	for (uint32_t i = 0; i < 1u << t->log_size; i++)
		t->wq[i]->obj.users--;
	obj_free(&t->obj);
	return 0;
}
