/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Contexts, device and port queries, protection domains, memory regions and address handles, by
 * <rdma/ib_user_verbs.h> and <rdma/mlx5-abi.h>; the limits are those a ConnectX-5 reports.
 */
#include <linux/capability.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "transport.h"

enum {
	VENDOR_ID = 0x02c9,
	BFREGS = 16,
	PKEYS = 128,
	MAX_WR = 32768,
	PAGE = 4096,
	QPT_RAW_PACKET = 8, /* as the kernel numbers it, and so does the mask of QP types */
};

CMD(get_context)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req;
	struct mlx5_ib_alloc_ucontext_resp drv = {0};
	struct ib_uverbs_get_context_resp *resp = cmd->resp;
	struct hca *h = ctx->hca;
	struct event_fd *e;

	cmd_drv_in(cmd, &req, sizeof(req));
	if (ctx->open || !req.total_num_bfregs || req.total_num_bfregs > 512)
		return EINVAL;
	if (req.flags & MLX5_IB_ALLOC_UCTX_DEVX && !h->conf->devx)
		return EOPNOTSUPP;
	e = calloc(1, sizeof(*e));
	if (!e)
		return ENOMEM;
	event_fd_open(e);
	if (e->user_fd < 0) {
		free(e);
		return EMFILE;
	}
	e->obj.ctx = ctx;
	event_fd_register(e);
	ctx->async = e;
	ctx->open = true;
	h->stat.opens++;
	if (!h->opened_ns)
		h->opened_ns = h->fault_ns = now_ns();

	drv.qp_tab_size = 1 << 18;
	drv.bf_reg_size = 512;
	drv.tot_bfregs = BFREGS;
	drv.cache_line_size = 64;
	drv.max_sq_desc_sz = 1024;
	drv.max_rq_desc_sz = 512;
	drv.max_send_wqebb = MAX_WR;
	drv.max_recv_wr = h->conf->wqes;
	drv.max_srq_recv_wr = MAX_WR;
	drv.num_ports = (uint16_t)h->conf->nports;
	drv.response_length = sizeof(drv);
	drv.cqe_version = req.max_cqe_version ? 1 : 0;
	drv.cmds_supp_uhw =
		MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH;
	drv.eth_min_inline = MLX5_USER_INLINE_MODE_NONE;
	drv.log_uar_size = 12;
	drv.num_uars_per_page = 1;
	clock_begin(h);
	clock_context(h, &drv);
	cmd_drv_out(cmd, &drv, sizeof(drv));
	resp->async_fd = (uint32_t)e->user_fd;
	resp->num_comp_vectors = 8;
	if (!fault_timers(h) || conf_get()->flowing)
		hca_start(h);
	return 0;
}

static uint64_t fw_version(const char *text)
{
	unsigned int a = 0, b = 0, c = 0;

	sscanf(text, "%u.%u.%u", &a, &b, &c);
	return (uint64_t)a << 32 | (b & 0xffff) << 16 | (c & 0xffff);
}

static bool any_ethernet(const struct hca_conf *conf)
{
	for (uint32_t i = 0; i < conf->nports; i++)
		if (!conf->port[i].ib)
			return true;
	return false;
}

static void device_fill(const struct hca *h, struct ib_uverbs_query_device_resp *r)
{
	*r = (struct ib_uverbs_query_device_resp){
		.fw_ver = fw_version(h->conf->fw),
		.node_guid = htobe64(h->conf->guid),
		.sys_image_guid = htobe64(h->conf->guid),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffffffffffff000u,
		.vendor_id = VENDOR_ID,
		.vendor_part_id = h->conf->device_id,
		.max_qp = 1 << 17,
		.max_qp_wr = (uint32_t)h->conf->wqes,
		.device_cap_flags = IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
				    IBV_DEVICE_CHANGE_PHY_PORT | IBV_DEVICE_PORT_ACTIVE_EVENT |
				    IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
				    IBV_DEVICE_MANAGED_FLOW_STEERING,
		.max_sge = 30,
		.max_sge_rd = 30,
		.max_cq = 1 << 24,
		.max_cqe = (1 << 22) - 1,
		.max_mr = 1 << 24,
		.max_pd = 1 << 23,
		.max_qp_rd_atom = 16,
		.max_res_rd_atom = 1 << 21,
		.max_qp_init_rd_atom = 16,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_raw_ethy_qp = 1 << 17,
		.max_ah = 0x7fffffff,
		.max_pkeys = PKEYS,
		.local_ca_ack_delay = 16,
		.phys_port_cnt = (uint8_t)h->conf->nports,
	};
	if (any_ethernet(h->conf))
		r->device_cap_flags |= IBV_DEVICE_RAW_IP_CSUM;
}

CMD(query_device)
{
	struct ib_uverbs_query_device_resp *resp = cmd->resp;

	device_fill(ctx->hca, resp);
	return 0;
}

/* Receive side scaling, of Ethernet ports only. */
static void rss_fill(const struct hca_conf *conf, struct ib_uverbs_ex_query_device_resp *resp,
	struct mlx5_ib_query_device_resp *drv)
{
	if (!any_ethernet(conf) || conf->no_rss)
		return;
	resp->rss_caps.supported_qpts = 1 << IBV_QPT_RAW_PACKET;
	resp->rss_caps.max_rwq_indirection_tables = 1 << 20;
	resp->rss_caps.max_rwq_indirection_table_size = 2048;
	resp->max_wq_type_rq = 1 << 23;
	drv->rss_caps.rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ;
	drv->rss_caps.rx_hash_fields_mask = MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4 |
					    MLX5_RX_HASH_SRC_IPV6 | MLX5_RX_HASH_DST_IPV6 |
					    MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_DST_PORT_TCP |
					    MLX5_RX_HASH_SRC_PORT_UDP | MLX5_RX_HASH_DST_PORT_UDP;
}

CMD(query_device_ex)
{
	struct ib_uverbs_ex_query_device_resp *resp = cmd->resp;
	struct mlx5_ib_query_device_resp drv = {0};
	const struct ib_uverbs_ex_query_device *req = cmd->req;

	if (req->comp_mask || req->reserved)
		return EINVAL;
	device_fill(ctx->hca, &resp->base);
	resp->response_length =
		(uint32_t)(cmd->out_len < sizeof(*resp) ? cmd->out_len : sizeof(*resp));
	resp->device_cap_flags_ex = resp->base.device_cap_flags;
	if (ctx->hca->conf->moderation != MODERATION_NONE) {
		resp->cq_moderation_caps.max_cq_moderation_count = 65535;
		resp->cq_moderation_caps.max_cq_moderation_period = GATHER_US_MAX;
	}
	resp->timestamp_mask = clock_mask();
	resp->hca_core_clock = clock_conf() ? clock_conf()->khz : 0;
	if (any_ethernet(ctx->hca->conf))
		resp->raw_packet_caps = IB_UVERBS_RAW_PACKET_CAP_IP_CSUM;
	rss_fill(ctx->hca->conf, resp, &drv);
	drv.response_length =
		(uint32_t)(cmd->drv_out_len < sizeof(drv) ? cmd->drv_out_len : sizeof(drv));
	cmd_drv_out(cmd, &drv, sizeof(drv));
	return 0;
}

/* How the port reaches its rate, as the kernel translates what the module reports. */
static const struct {
	uint32_t gbps;
	uint8_t width, speed;
} rates[] = {
	{10, 1, 4},
	{25, 1, 32},
	{40, 2, 4},
	{50, 1, 64},
	{56, 2, 16},
	{100, 2, 32},
	{200, 2, 64},
	{400, 2, 128},
};

static uint8_t mtu_enum(uint32_t bytes)
{
	uint8_t e = IBV_MTU_256;

	while (e < IBV_MTU_4096 && bytes >= 256u << e)
		e++;
	return e;
}

CMD(query_port)
{
	const struct ib_uverbs_query_port *req = cmd->req;
	struct ib_uverbs_query_port_resp *r = cmd->resp;
	const struct port_conf *c;
	const struct port *p;

	if (req->port_num < 1 || req->port_num > ctx->hca->conf->nports)
		return EINVAL;
	p = &ctx->hca->port[req->port_num - 1];
	c = p->conf;
	r->state = p->up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	r->phys_state = p->up ? 5 : 3;
	r->max_mtu = IBV_MTU_4096;
	/* RoCE: the largest InfiniBand MTU whose packets fit the netdev's. */
	r->active_mtu = c->ib ? IBV_MTU_4096 : mtu_enum(c->mtu > 58 ? c->mtu - 58 : 0);
	r->gid_tbl_len = GID_TABLE;
	r->pkey_tbl_len = c->ib ? PKEYS : 1;
	r->max_msg_sz = 1u << 30;
	r->port_cap_flags = c->ib ? 0x2651e848 : 0x04010000;
	r->lid = (uint16_t)c->lid;
	r->sm_lid = (uint16_t)c->sm_lid;
	r->max_vl_num = c->ib ? 4 : 0;
	r->subnet_timeout = c->ib ? 18 : 0;
	r->link_layer = c->ib ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
	r->active_width = 2;
	r->active_speed = 32;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		if (rates[i].gbps == c->gbps) {
			r->active_width = rates[i].width;
			r->active_speed = rates[i].speed;
		}
	}
	return 0;
}

/* RoCE: link-local from the MAC, then IPv4-mapped, each as v1 and v2. InfiniBand: the port GUID. */
bool gid_entry_get(
	const struct hca *h, uint32_t port, uint32_t index, struct ib_uverbs_gid_entry *e)
{
	const struct port_conf *c = &h->conf->port[port - 1];
	uint8_t *g = (uint8_t *)e->gid;

	memset(e, 0, sizeof(*e));
	e->gid_index = index;
	e->port_num = port;
	if (c->ib) {
		uint64_t guid = htobe64(h->conf->guid + port - 1);

		if (index)
			return false;
		g[0] = 0xfe;
		g[1] = 0x80;
		memcpy(g + 8, &guid, 8);
		e->gid_type = IB_UVERBS_GID_TYPE_IB;
		return true;
	}
	e->gid_type = index & 1 ? IB_UVERBS_GID_TYPE_ROCE_V2 : IB_UVERBS_GID_TYPE_ROCE_V1;
	e->netdev_ifindex = c->ifindex;
	if (index < 2) {
		g[0] = 0xfe;
		g[1] = 0x80;
		memcpy(g + 8, c->mac, 3);
		g[8] ^= 2;
		g[11] = 0xff;
		g[12] = 0xfe;
		memcpy(g + 13, c->mac + 3, 3);
		return true;
	}
	if (index < 4 && c->ip[0]) {
		g[10] = g[11] = 0xff;
		memcpy(g + 12, c->ip, 4);
		return true;
	}
	return false;
}

CMD(alloc_pd)
{
	struct ib_uverbs_alloc_pd_resp *resp = cmd->resp;
	struct mlx5_ib_alloc_pd_resp drv = {0};
	struct pd *pd = obj_new(ctx, OBJ_PD, sizeof(*pd));

	if (!pd)
		return ENOMEM;
	resp->pd_handle = pd->obj.handle;
	drv.pdn = 0x40 + pd->obj.handle;
	cmd_drv_out(cmd, &drv, sizeof(drv));
	return 0;
}

CMD(dealloc_pd)
{
	const struct ib_uverbs_dealloc_pd *req = cmd->req;
	struct pd *pd = obj_get(ctx, OBJ_PD, req->pd_handle);

	if (!pd)
		return EINVAL;
	if (obj_busy(&pd->obj))
		return EBUSY;
	obj_free(&pd->obj);
	return 0;
}

static uint64_t pages_of(uint64_t start, uint64_t length)
{
	return (start % PAGE + length + PAGE - 1) / PAGE;
}

static uint64_t pages_pinned(const struct hca *h)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < h->nkeys && h->keys; i++)
		if (h->keys[i])
			n += pages_of(h->keys[i]->start, h->keys[i]->length);
	return n;
}

/* As pinning requires: the range must be mapped. */
static bool range_mapped(uint64_t start, uint64_t length)
{
	uint64_t at = start / PAGE * PAGE, end = start + length;
	unsigned char vec[1024];

	for (; at < end; at += sizeof(vec) * PAGE) {
		uint64_t n = end - at < sizeof(vec) * PAGE ? end - at : sizeof(vec) * PAGE;

		if (mincore((void *)(uintptr_t)at, n, vec))
			return false;
	}
	return true;
}

/* As the kernel's can_do_mlock(): a limit of 0 means no permission. */
bool may_pin(void)
{
	struct rlimit lim;

	return has_capability(CAP_IPC_LOCK) || getrlimit(RLIMIT_MEMLOCK, &lim) || lim.rlim_cur;
}

static int mr_check(const struct hca *h, uint64_t start, uint64_t length, uint32_t access)
{
	struct rlimit lim;

	if (!length || start + length < start)
		return EINVAL;
	if (access & IBV_ACCESS_ON_DEMAND)
		return EOPNOTSUPP;
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
		!(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	if (!may_pin())
		return EPERM;
	if (!getrlimit(RLIMIT_MEMLOCK, &lim) && lim.rlim_cur != RLIM_INFINITY &&
		pages_pinned(h) + pages_of(start, length) > lim.rlim_cur / PAGE &&
		!has_capability(CAP_IPC_LOCK))
		return ENOMEM;
	return range_mapped(start, length) ? 0 : EFAULT;
}

static int key_alloc(struct hca *h, struct mr *mr)
{
	uint32_t i;

	for (i = 0x10; h->keys && i < h->nkeys && h->keys[i]; i++)
		;
	if (!h->keys || i == h->nkeys) {
		uint32_t n = h->nkeys * 2;
		struct mr **p = realloc(h->keys, n * sizeof(struct mr *));

		if (!p)
			return ENOMEM;
		memset(p + (h->keys ? h->nkeys : 0), 0,
			(n - (h->keys ? h->nkeys : 0)) * sizeof(struct mr *));
		i = i < 0x10 ? 0x10 : i;
		h->keys = p;
		h->nkeys = n;
	}
	h->keys[i] = mr;
	mr->lkey = i << 8 | (uint32_t)(++h->key_generation & 0xff);
	return 0;
}

CMD(reg_mr)
{
	const struct ib_uverbs_reg_mr *req = cmd->req;
	struct ib_uverbs_reg_mr_resp *resp = cmd->resp;
	struct mr *mr;
	int rc;
	struct pd *pd = obj_get(ctx, OBJ_PD, req->pd_handle);

	if (!pd || req->start % PAGE != req->hca_va % PAGE)
		return EINVAL;
	rc = mr_check(ctx->hca, req->start, req->length, req->access_flags);
	if (rc)
		return rc;
	mr = obj_new(ctx, OBJ_MR, sizeof(*mr));
	if (!mr)
		return ENOMEM;
	rc = key_alloc(ctx->hca, mr);
	if (rc) {
		obj_free(&mr->obj);
		return rc;
	}
	mr->pd = pd;
	mr->start = req->start;
	mr->length = req->length;
	mr->iova = req->hca_va;
	mr->access = req->access_flags;
	pd->obj.users++;
	resp->mr_handle = mr->obj.handle;
	resp->lkey = resp->rkey = mr->lkey;
	return 0;
}

CMD(dereg_mr)
{
	const struct ib_uverbs_dereg_mr *req = cmd->req;
	struct hca *h = ctx->hca;
	struct qp *qp;
	struct mr *mr = obj_get(ctx, OBJ_MR, req->mr_handle);

	if (!mr)
		return EINVAL;
	/* The kernel allows it; the queue's next frame is then an error, or worse. */
	LIST_FOREACH (qp, &h->qps, link)
		h->stat.order_violations += qp_receiving(qp) && qp->mr == mr &&
					    qp->mr_generation == h->key_generation && qp_posted(qp);
	h->keys[mr->lkey >> 8] = NULL;
	h->key_generation++;
	mr->pd->obj.users--;
	obj_free(&mr->obj);
	return 0;
}

CMD(create_ah)
{
	const struct ib_uverbs_create_ah *req = cmd->req;
	struct ib_uverbs_create_ah_resp *resp = cmd->resp;
	struct mlx5_ib_create_ah_resp drv = {.response_length = sizeof(drv)};
	struct ah *ah;
	struct pd *pd = obj_get(ctx, OBJ_PD, req->pd_handle);

	if (!pd || req->attr.port_num < 1 || req->attr.port_num > ctx->hca->conf->nports)
		return EINVAL;
	if (!ctx->hca->conf->port[req->attr.port_num - 1].ib && !req->attr.is_global)
		return EINVAL;
	ah = obj_new(ctx, OBJ_AH, sizeof(*ah));
	if (!ah)
		return ENOMEM;
	ah->pd = pd;
	pd->obj.users++;
	resp->ah_handle = ah->obj.handle;
	gid_to_mac(ctx->hca, req->attr.grh.dgid, drv.dmac);
	cmd_drv_out(cmd, &drv, sizeof(drv));
	return 0;
}

CMD(destroy_ah)
{
	const struct ib_uverbs_destroy_ah *req = cmd->req;
	struct ah *ah = obj_get(ctx, OBJ_AH, req->ah_handle);

	if (!ah)
		return EINVAL;
	ah->pd->obj.users--;
	obj_free(&ah->obj);
	return 0;
}
