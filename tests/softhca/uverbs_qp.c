/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs and flows: <rdma/ib_user_verbs.h>, <rdma/mlx5-abi.h>, and for the transitions the
 * InfiniBand Architecture Specification (10.3) as the kernel's core enforces it.
 */
#include <linux/capability.h>

#include "softhca.h"

enum {
	QP_ATTR_LEGACY_MAX = IBV_QP_DEST_QPN << 1,
	FLOW_PRIORITIES = 1 << 10,
	RQ_WQE_MAX = 32768,
	AV = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	CONN = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	RC_RTR = AV | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	RC_RTS = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		 IBV_QP_MAX_QP_RD_ATOMIC,
	LATER = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE |
		IBV_QP_MIN_RNR_TIMER | IBV_QP_CUR_STATE,
	UD_INIT = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
	UD_LATER = IBV_QP_PKEY_INDEX | IBV_QP_QKEY | IBV_QP_CUR_STATE,
};

/* Required and optional attributes of each transition, besides the state. */
static const struct transition {
	uint8_t type, from, to;
	uint32_t required, optional;
} transitions[] = {
	{IBV_QPT_RAW_PACKET, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PORT, 0},
	{IBV_QPT_RAW_PACKET, IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PORT},
	{IBV_QPT_RAW_PACKET, IBV_QPS_INIT, IBV_QPS_RTR, 0, 0},
	{IBV_QPT_RAW_PACKET, IBV_QPS_RTR, IBV_QPS_RTS, 0, 0},
	{IBV_QPT_RAW_PACKET, IBV_QPS_RTS, IBV_QPS_RTS, 0, 0},
	{IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, UD_INIT, 0},
	{IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_INIT, 0, UD_INIT},
	{IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, 0, UD_LATER},
	{IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, UD_LATER},
	{IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_RTS, 0, UD_LATER},
	{IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, CONN, 0},
	{IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_INIT, 0, CONN},
	{IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, RC_RTR, LATER},
	{IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS, RC_RTS, LATER},
	{IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, 0, LATER},
};

static bool transition_allowed(const struct qp *qp, uint32_t from, uint32_t to, uint32_t mask)
{
	uint32_t known = IBV_QP_STATE | IBV_QP_CUR_STATE;

	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return !(mask & ~known);
	for (size_t i = 0; i < ARRAY_SIZE(transitions); i++) {
		const struct transition *t = &transitions[i];

		if (t->type != qp->type || t->from != from || t->to != to)
			continue;
		return (mask & t->required) == t->required &&
		       !(mask & ~(t->required | t->optional | known));
	}
	return false;
}

static bool type_allowed(const struct hca *h, uint32_t type)
{
	bool ethernet = false;

	for (uint32_t i = 0; i < h->conf->nports; i++)
		ethernet |= !h->conf->port[i].ib;
	return type == IBV_QPT_RC || type == IBV_QPT_UD || (type == IBV_QPT_RAW_PACKET && ethernet);
}

static void share(struct qp *qp)
{
	struct hca *h = qp->obj.ctx->hca;
	struct shared_qp o = {.number = qp->qpn, .type = qp->type};

	shared_add(h, &qp->obj, &o);
	qp->qpn = o.number;
	if (h->next_qpn <= o.number)
		h->next_qpn = o.number + 1;
}

/*
 * A queue pair of which there is only the steering: no send queue, no state of its own, receives in
 * the work queues of a table.
 */
static int qp_create_rss(struct ctx *ctx, struct cmd *cmd, const struct ib_uverbs_ex_create_qp *req,
	struct pd *pd, struct ib_uverbs_create_qp_resp *resp)
{
	struct table *table = obj_get(ctx, OBJ_TABLE, req->rwq_ind_tbl_handle);
	struct rss *rss;
	struct qp *qp;
	int rc;

	if (ctx->hca->conf->no_rss || req->qp_type != IBV_QPT_RAW_PACKET)
		return EOPNOTSUPP;
	if (!pd || !table || req->max_recv_wr || req->max_recv_sge || req->max_send_wr)
		return EINVAL;
	rc = rss_new(&rss, table, cmd);
	if (rc)
		return rc;
	qp = obj_new(ctx, OBJ_QP, sizeof(*qp));
	if (!qp) {
		rss_free(rss);
		return ENOMEM;
	}
	qp->user_handle = req->user_handle;
	qp->pd = pd;
	qp->qpn = ctx->hca->next_qpn++ & 0xffffff;
	qp->type = req->qp_type;
	qp->state = IBV_QPS_RTR;
	qp->rss = rss;
	pd->obj.users++;
	table->obj.users++;
	share(qp);
	LIST_INIT(&qp->flows);
	LIST_INSERT_HEAD(&ctx->hca->qps, qp, link);
	*resp = (struct ib_uverbs_create_qp_resp){.qp_handle = qp->obj.handle, .qpn = qp->qpn};
	return 0;
}

static int qp_create(struct ctx *ctx, struct cmd *cmd, const struct ib_uverbs_ex_create_qp *req,
	struct ib_uverbs_create_qp_resp *resp)
{
	struct hca *h = ctx->hca;
	struct mlx5_ib_create_qp drv;
	struct mlx5_ib_create_qp_resp drv_resp = {0};
	struct pd *pd = obj_get(ctx, OBJ_PD, req->pd_handle);
	struct cq *scq = obj_get(ctx, OBJ_CQ, req->send_cq_handle);
	struct cq *rcq = obj_get(ctx, OBJ_CQ, req->recv_cq_handle);
	struct qp *qp;

	cmd_drv_in(cmd, &drv, sizeof(drv));
	if (req->qp_type == IBV_QPT_RAW_PACKET && !has_capability(CAP_NET_RAW))
		return EPERM;
	if (!type_allowed(h, req->qp_type) || req->is_srq || req->create_flags ||
		req->comp_mask & ~(uint32_t)IB_UVERBS_CREATE_QP_MASK_IND_TABLE)
		return EOPNOTSUPP;
	if (req->comp_mask & IB_UVERBS_CREATE_QP_MASK_IND_TABLE)
		return qp_create_rss(ctx, cmd, req, pd, resp);
	if (!pd || !scq || !rcq)
		return EINVAL;
	if (req->max_recv_wr > h->conf->wqes || req->max_send_wr > RQ_WQE_MAX ||
		drv.rq_wqe_count > h->conf->wqes || drv.rq_wqe_count & (drv.rq_wqe_count - 1) ||
		drv.sq_wqe_count & (drv.sq_wqe_count - 1) || !drv.db_addr)
		return EINVAL;
	qp = obj_new(ctx, OBJ_QP, sizeof(*qp));
	if (!qp)
		return ENOMEM;
	qp->user_handle = req->user_handle;
	qp->pd = pd;
	qp->send_cq = scq;
	qp->recv_cq = rcq;
	qp->qpn = h->next_qpn++ & 0xffffff;
	qp->uidx = drv.uidx;
	qp->type = req->qp_type;
	qp->state = IBV_QPS_RESET;
	qp->rq = (uint8_t *)(uintptr_t)drv.buf_addr;
	qp->db = (volatile uint32_t *)(uintptr_t)drv.db_addr;
	qp->rq_count = drv.rq_wqe_count;
	qp->rq_shift = drv.rq_wqe_shift;
	/* Of a RAW_PACKET queue pair the send queue is a buffer of its own, else it follows. */
	if (qp->type == IBV_QPT_RAW_PACKET)
		qp->sq = (uint8_t *)(uintptr_t)drv.sq_buf_addr;
	else
		qp->sq = qp->rq + ((size_t)qp->rq_count << qp->rq_shift);
	qp->sq_count = qp->type != IBV_QPT_RAW_PACKET || qp->sq ? drv.sq_wqe_count : 0;
	qp->max_send_wr = req->max_send_wr;
	qp->max_recv_wr = req->max_recv_wr;
	qp->max_send_sge = req->max_send_sge;
	qp->max_recv_sge = req->max_recv_sge;
	qp->max_inline = req->max_inline_data;
	qp->sig_all = req->sq_sig_all;
	pd->obj.users++;
	share(qp);
	scq->obj.users++;
	rcq->obj.users++;
	LIST_INIT(&qp->flows);
	LIST_INSERT_HEAD(&h->qps, qp, link);

	*resp = (struct ib_uverbs_create_qp_resp){
		.qp_handle = qp->obj.handle,
		.qpn = qp->qpn,
		.max_send_wr = qp->max_send_wr,
		.max_recv_wr = qp->max_recv_wr,
		.max_send_sge = qp->max_send_sge,
		.max_recv_sge = qp->max_recv_sge,
		.max_inline_data = qp->max_inline,
	};
	cmd_drv_out(cmd, &drv_resp, sizeof(drv_resp));
	return 0;
}

/* Its fields stand in the same order, up to those that only the extended command has. */
CMD(create_qp)
{
	struct ib_uverbs_ex_create_qp ex = {0};

	memcpy(&ex, (const uint8_t *)cmd->req + offsetof(struct ib_uverbs_create_qp, user_handle),
		offsetof(struct ib_uverbs_ex_create_qp, comp_mask));
	return qp_create(ctx, cmd, &ex, cmd->resp);
}

CMD(create_qp_ex)
{
	struct ib_uverbs_ex_create_qp_resp *resp = cmd->resp;

	resp->response_length = sizeof(*resp);
	return qp_create(ctx, cmd, cmd->req, &resp->base);
}

CMD(query_qp)
{
	const struct ib_uverbs_query_qp *req = cmd->req;
	struct ib_uverbs_query_qp_resp *r = cmd->resp;
	struct qp *qp = obj_get(ctx, OBJ_QP, req->qp_handle);

	if (!qp)
		return EINVAL;
	memcpy(&r->dest, qp->attr.dest, sizeof(r->dest));
	r->max_send_wr = qp->max_send_wr;
	r->max_recv_wr = qp->max_recv_wr;
	r->max_send_sge = qp->max_send_sge;
	r->max_recv_sge = qp->max_recv_sge;
	r->max_inline_data = qp->max_inline;
	r->qkey = qp->attr.qkey;
	r->rq_psn = qp->attr.rq_psn;
	r->sq_psn = qp->attr.sq_psn;
	r->dest_qp_num = qp->attr.dest_qpn;
	r->qp_access_flags = qp->attr.access;
	r->pkey_index = qp->attr.pkey_index;
	r->qp_state = r->cur_qp_state = (uint8_t)qp->state;
	r->path_mtu = qp->attr.path_mtu;
	r->max_rd_atomic = qp->attr.rd_atomic;
	r->max_dest_rd_atomic = qp->attr.dest_rd_atomic;
	r->min_rnr_timer = qp->attr.min_rnr;
	r->port_num = (uint8_t)qp->port;
	r->timeout = qp->attr.timeout;
	r->retry_cnt = qp->attr.retry;
	r->rnr_retry = qp->attr.rnr_retry;
	r->sq_sig_all = qp->sig_all;
	return 0;
}

static void qp_store_attrs(struct qp *qp, const struct ib_uverbs_modify_qp *r)
{
	uint32_t m = r->attr_mask;

	if (m & IBV_QP_PORT)
		qp->port = r->port_num;
	if (m & IBV_QP_AV)
		memcpy(qp->attr.dest, &r->dest, sizeof(qp->attr.dest));
	if (m & IBV_QP_QKEY)
		qp->attr.qkey = r->qkey;
	if (m & IBV_QP_RQ_PSN)
		qp->attr.rq_psn = qp->rc.expected = r->rq_psn & 0xffffff;
	if (m & IBV_QP_SQ_PSN)
		qp->attr.sq_psn = qp->rc.psn = r->sq_psn & 0xffffff;
	if (m & IBV_QP_DEST_QPN)
		qp->attr.dest_qpn = r->dest_qp_num;
	if (m & IBV_QP_ACCESS_FLAGS)
		qp->attr.access = r->qp_access_flags;
	if (m & IBV_QP_PKEY_INDEX)
		qp->attr.pkey_index = r->pkey_index;
	if (m & IBV_QP_PATH_MTU)
		qp->attr.path_mtu = r->path_mtu;
	if (m & IBV_QP_TIMEOUT)
		qp->attr.timeout = r->timeout;
	if (m & IBV_QP_RETRY_CNT)
		qp->attr.retry = r->retry_cnt;
	if (m & IBV_QP_RNR_RETRY)
		qp->attr.rnr_retry = r->rnr_retry;
	if (m & IBV_QP_MIN_RNR_TIMER)
		qp->attr.min_rnr = r->min_rnr_timer;
	if (m & IBV_QP_MAX_QP_RD_ATOMIC)
		qp->attr.rd_atomic = r->max_rd_atomic;
	if (m & IBV_QP_MAX_DEST_RD_ATOMIC)
		qp->attr.dest_rd_atomic = r->max_dest_rd_atomic;
}

static int qp_modify(struct ctx *ctx, const struct ib_uverbs_modify_qp *r)
{
	struct hca *h = ctx->hca;
	struct qp *qp = obj_get(ctx, OBJ_QP, r->qp_handle);
	uint32_t to, from;

	if (!qp)
		return EINVAL;
	if (qp->rss)
		return EOPNOTSUPP;
	from = r->attr_mask & IBV_QP_CUR_STATE ? r->cur_qp_state : qp->state;
	to = r->attr_mask & IBV_QP_STATE ? r->qp_state : from;
	if (from > IBV_QPS_ERR || to > IBV_QPS_ERR ||
		(r->attr_mask & IBV_QP_CUR_STATE && r->cur_qp_state != qp->state))
		return EINVAL;
	if (r->attr_mask & IBV_QP_PORT && (r->port_num < 1 || r->port_num > h->conf->nports))
		return EINVAL;
	if (!transition_allowed(qp, from, to, r->attr_mask))
		return EINVAL;
	if (qp->type == IBV_QPT_RAW_PACKET && r->attr_mask & IBV_QP_PORT &&
		h->conf->port[r->port_num - 1].ib)
		return EINVAL;
	qp_store_attrs(qp, r);
	if (to == IBV_QPS_ERR && qp->state != IBV_QPS_ERR) {
		if (qp->state == IBV_QPS_RESET)
			qp->state = IBV_QPS_ERR;
		else
			qp_to_error(h, qp);
	} else {
		qp->state = to;
	}
	if (to == IBV_QPS_RESET) {
		qp->rq_head = qp->rq_ready = qp->sq_head = 0;
		qp->halted = false;
		qp->deaf = h->conf->deaf && !LIST_EMPTY(&qp->flows);
		qp->port = 0;
		memset(&qp->attr, 0, sizeof(qp->attr));
		memset(&qp->rc, 0, sizeof(qp->rc));
	}
	hca_retarget(h);
	/* A command may copy frames to it at any time. */
	if (to == IBV_QPS_RTR && *h->conf->gateway)
		hca_start(h);
	return 0;
}

CMD(modify_qp)
{
	const struct ib_uverbs_modify_qp *req = cmd->req;

	if (req->attr_mask >= QP_ATTR_LEGACY_MAX)
		return EOPNOTSUPP;
	return qp_modify(ctx, req);
}

CMD(destroy_qp)
{
	const struct ib_uverbs_destroy_qp *req = cmd->req;
	struct ib_uverbs_destroy_qp_resp *resp = cmd->resp;
	struct qp *qp = obj_get(ctx, OBJ_QP, req->qp_handle);

	if (!qp)
		return EINVAL;
	if (obj_busy(&qp->obj))
		return EBUSY;
	resp->events_reported = qp->async_sent - event_fd_withdraw(ctx->async, qp->user_handle,
							 sizeof(struct ib_uverbs_async_event_desc));
	gateway_qp_gone(ctx->hca, qp->qpn);
	qp->pd->obj.users--;
	if (qp->rss) {
		rss_table(qp->rss)->obj.users--;
	} else {
		qp->send_cq->obj.users--;
		qp->recv_cq->obj.users--;
	}
	flows_remove(qp, UINT64_MAX);
	LIST_REMOVE(qp, link);
	rss_free(qp->rss);
	obj_free(&qp->obj);
	hca_retarget(ctx->hca);
	return 0;
}

/* The result of mlx5 for a sniffer on each type of port. Other flows are not modelled. */
static int flow_check(
	const struct hca *h, const struct qp *qp, const struct ib_uverbs_flow_attr *attr)
{
	const struct port_conf *port;

	if (attr->port < 1 || attr->port > h->conf->nports)
		return EINVAL;
	port = &h->conf->port[attr->port - 1];
	if (attr->type != IBV_FLOW_ATTR_SNIFFER)
		return EOPNOTSUPP;
	if (attr->flags & ~(uint32_t)(IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS))
		return EINVAL;
	if (attr->priority > FLOW_PRIORITIES)
		return ENOMEM;
	if (port->ib)
		return h->conf->ib_sniffer && qp->type == IBV_QPT_UD ? 0 : EOPNOTSUPP;
	if (!h->conf->sniffer || (qp->rss && h->conf->no_rss_sniffer))
		return EOPNOTSUPP;
	if (sniffers_count(h, attr->port) >= h->conf->sniffers)
		return EBUSY;
	return qp->type == IBV_QPT_RAW_PACKET ? 0 : EINVAL;
}

CMD(create_flow)
{
	const struct ib_uverbs_create_flow *req = cmd->req;
	struct ib_uverbs_create_flow_resp *resp = cmd->resp;
	struct flow *f;
	struct qp *qp;
	int rc;

	if (req->comp_mask)
		return EINVAL;
	if (!has_capability(CAP_NET_RAW))
		return EPERM;
	qp = obj_get(ctx, OBJ_QP, req->qp_handle);
	if (!qp || (qp->type != IBV_QPT_UD && qp->type != IBV_QPT_RAW_PACKET))
		return EINVAL;
	rc = flow_check(ctx->hca, qp, &req->flow_attr);
	if (rc)
		return rc;
	f = obj_new(ctx, OBJ_FLOW, sizeof(*f));
	if (!f)
		return ENOMEM;
	f->qp = qp;
	f->port = req->flow_attr.port;
	qp->obj.users++;
	LIST_INSERT_HEAD(&qp->flows, f, link);
	qp->deaf = false;
	ctx->hca->port[f->port - 1].before_flow = ctx->hca->port[f->port - 1].offered;
	hca_retarget(ctx->hca);
	hca_start(ctx->hca);
	resp->flow_handle = f->obj.handle;
	return 0;
}

CMD(destroy_flow)
{
	const struct ib_uverbs_destroy_flow *req = cmd->req;
	struct flow *f;

	if (req->comp_mask)
		return EINVAL;
	f = obj_get(ctx, OBJ_FLOW, req->flow_handle);
	if (!f)
		return EINVAL;
	flow_destroy(ctx->hca, f);
	counters_flush(ctx->hca);
	return 0;
}
