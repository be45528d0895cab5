/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Contexts, objects and the command tables of the uverbs ABI, as <rdma/ib_user_verbs.h> and
 * <rdma/ib_user_ioctl_cmds.h> define them. Commands arrive by ioctl: INVOKE_WRITE carries the
 * classic ones, all other methods return EPROTONOSUPPORT, and libraries use the classic ones.
 */
#include <linux/capability.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "softhca.h"

enum { FD_MAX = 4096 };

static _Atomic(struct ctx *) ctx_by_fd[FD_MAX];
static _Atomic(struct event_fd *) event_by_fd[FD_MAX];
static pthread_mutex_t hca_table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hca *hca_table[MAX_DEVICES];
static pid_t owner;

struct hca *hca_get(uint32_t index)
{
	return index < MAX_DEVICES && owner == getpid() ? hca_table[index] : NULL;
}

static struct hca *hca_new(const struct hca_conf *conf, uint32_t index)
{
	struct hca *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->conf = conf;
	h->index = (int)index;
	h->next_qpn = 0x100;
	h->next_cqn = 0x400;
	h->nkeys = 0x10; /* small keys stay unused: 0x100 ends a scatter list */
	pthread_mutex_init(&h->lock, NULL);
	for (uint32_t i = 0; i < conf->nports; i++) {
		struct port *p = &h->port[i];

		p->hca = h;
		p->conf = &conf->port[i];
		p->num = i + 1;
		p->up = p->conf->active;
	}
	port_files_open(h);
	wire_open(h);
	shared_open(h);
	return h;
}

int uverbs_open(uint32_t index, int flags)
{
	const struct model_conf *c = conf_get();
	struct ctx *ctx;
	struct hca *h;
	int fd;

	if (!c || index >= c->ndevices) {
		errno = ENOENT;
		return -1;
	}
	/* A forked child starts with a model of its own. */
	time_inside(1);
	pthread_mutex_lock(&hca_table_lock);
	if (owner != getpid()) {
		owner = getpid();
		memset(hca_table, 0, sizeof(hca_table));
		stats_open();
	}
	if (!hca_table[index])
		hca_table[index] = hca_new(&c->device[index], index);
	h = hca_table[index];
	pthread_mutex_unlock(&hca_table_lock);
	time_inside(-1);

	ctx = calloc(1, sizeof(*ctx));
	fd = real_open("/dev/null", O_RDWR | (flags & O_CLOEXEC), 0);
	if (!h || !ctx || fd < 0 || fd >= FD_MAX) {
		if (fd >= 0)
			real_close(fd);
		free(ctx);
		errno = ENOMEM;
		return -1;
	}
	ctx->hca = h;
	ctx->fd = fd;
	hca_lock(h);
	LIST_INSERT_HEAD(&h->contexts, ctx, link);
	hca_unlock(h);
	atomic_store(&ctx_by_fd[fd], ctx);
	return fd;
}

struct ctx *uverbs_from_fd(int fd)
{
	struct ctx *ctx = fd >= 0 && fd < FD_MAX ? atomic_load(&ctx_by_fd[fd]) : NULL;

	return ctx && owner == getpid() ? ctx : NULL;
}

void event_fd_register(struct event_fd *e)
{
	if (e->user_fd < FD_MAX)
		atomic_store(&event_by_fd[e->user_fd], e);
}

static struct event_fd *event_fd_find(int fd)
{
	return fd >= 0 && fd < FD_MAX ? atomic_load(&event_by_fd[fd]) : NULL;
}

bool event_fd_waits(int fd)
{
	return event_fd_find(fd) != NULL;
}

static void event_fd_free(struct event_fd *e)
{
	real_close(e->model_fd);
	if (e->obj.handle)
		obj_free(&e->obj);
	else
		free(e);
}

static void ctx_close(struct ctx *ctx)
{
	struct hca *h = ctx->hca;
	bool last;

	hca_lock(h);
	/* Types in reverse order: an object is destroyed before the objects that it uses. */
	for (int type = OBJ_TYPES - 1; type > OBJ_NONE; type--) {
		for (uint32_t i = 1; i < ctx->nobj; i++) {
			struct obj *o = ctx->obj[i];

			if (!o || o->type != (enum obj_type)type)
				continue;
			if (type != OBJ_CHANNEL || !((struct event_fd *)o)->closed)
				h->stat.leaked[type]++;
			if (type == OBJ_CHANNEL) {
				struct event_fd *e = (struct event_fd *)o;

				if (!e->closed)
					atomic_store(&event_by_fd[e->user_fd], NULL);
				event_fd_free(e);
			} else if (type == OBJ_FLOW) {
				LIST_REMOVE((struct flow *)o, link);
				obj_free(o);
			} else if (type == OBJ_QP || type == OBJ_WQ) {
				flows_remove((struct qp *)o, UINT64_MAX);
				mcasts_free((struct qp *)o);
				LIST_REMOVE((struct qp *)o, link);
				rss_free(((struct qp *)o)->rss);
				obj_free(o);
			} else if (type == OBJ_CQ) {
				LIST_REMOVE((struct cq *)o, link);
				obj_free(o);
			} else if (type == OBJ_MR) {
				h->keys[((struct mr *)o)->lkey >> 8] = NULL;
				h->key_generation++;
				obj_free(o);
			} else {
				obj_free(o);
			}
		}
	}
	if (ctx->async && ctx->async->closed)
		event_fd_free(ctx->async);
	else if (ctx->async)
		ctx->async->obj.ctx = NULL;
	LIST_REMOVE(ctx, link);
	hca_retarget(h);
	counters_flush(h);
	clock_flush(h);
	last = LIST_EMPTY(&h->contexts);
	hca_unlock(h);
	if (last)
		hca_stop(h);
	free(ctx->obj);
	free(ctx);
	stats_write();
}

void uverbs_closing(int fd)
{
	struct ctx *ctx = uverbs_from_fd(fd);
	struct event_fd *e = event_fd_find(fd);

	if (ctx) {
		atomic_store(&ctx_by_fd[fd], NULL);
		ctx_close(ctx);
	}
	if (e && owner == getpid()) {
		struct hca *h = e->obj.ctx ? e->obj.ctx->hca : NULL;

		atomic_store(&event_by_fd[fd], NULL);
		if (!h) {
			event_fd_free(e);
			return;
		}
		hca_lock(h);
		e->closed = true;
		if (!e->obj.users && e->obj.handle)
			event_fd_free(e);
		hca_unlock(h);
	}
}

void *obj_new(struct ctx *ctx, enum obj_type type, size_t size)
{
	struct obj *o = calloc(1, size);
	uint32_t i;

	if (!o)
		return NULL;
	for (i = 1; i < ctx->nobj && ctx->obj[i]; i++)
		;
	if (i >= ctx->nobj) {
		uint32_t n = ctx->nobj ? ctx->nobj * 2 : 16;
		struct obj **p = realloc(ctx->obj, n * sizeof(struct obj *));

		if (!p) {
			free(o);
			return NULL;
		}
		memset(p + ctx->nobj, 0, (n - ctx->nobj) * sizeof(*p));
		i = ctx->nobj ? ctx->nobj : 1;
		ctx->obj = p;
		ctx->nobj = n;
	}
	*o = (struct obj){.type = type, .handle = i, .ctx = ctx};
	ctx->obj[i] = o;
	ctx->hca->stat.created[type]++;
	return o;
}

void *obj_get(struct ctx *ctx, enum obj_type type, uint32_t handle)
{
	struct obj *o = handle < ctx->nobj ? ctx->obj[handle] : NULL;

	return o && o->type == type ? o : NULL;
}

void obj_free(struct obj *o)
{
	shared_remove(o);
	o->ctx->obj[o->handle] = NULL;
	free(o);
}

int obj_busy(struct obj *o)
{
	if (!o->users)
		return 0;
	o->ctx->hca->stat.order_violations++;
	return EBUSY;
}

bool has_capability(int cap)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &head, data))
		return false;
	return data[cap / 32].effective >> (cap % 32) & 1;
}

void cmd_drv_in(const struct cmd *cmd, void *req, size_t len)
{
	memset(req, 0, len);
	if (cmd->drv_in)
		memcpy(req, cmd->drv_in, cmd->drv_in_len < len ? cmd->drv_in_len : len);
}

void cmd_drv_out(const struct cmd *cmd, const void *resp, size_t len)
{
	if (cmd->drv_out)
		memcpy(cmd->drv_out, resp, cmd->drv_out_len < len ? cmd->drv_out_len : len);
}

struct command {
	const char *name; /* as --fault verb=NAME says it */
	cmd_fn run;
	size_t in_min, out_min;
};

#define LEGACY(id, fn, in, out)		[IB_USER_VERBS_CMD_##id] = {#fn, cmd_##fn, in, out}
#define EXTENDED(id, name, fn, in, out) [IB_USER_VERBS_EX_CMD_##id] = {name, cmd_##fn, in, out}

static const struct command legacy[] = {
	[IB_USER_VERBS_CMD_GET_CONTEXT] = {"open_device", cmd_get_context, 8,
		sizeof(struct ib_uverbs_get_context_resp)},
	LEGACY(QUERY_DEVICE, query_device, 8, sizeof(struct ib_uverbs_query_device_resp)),
	LEGACY(QUERY_PORT, query_port, sizeof(struct ib_uverbs_query_port),
		sizeof(struct ib_uverbs_query_port_resp)),
	LEGACY(ALLOC_PD, alloc_pd, 8, 4),
	LEGACY(DEALLOC_PD, dealloc_pd, 4, 0),
	LEGACY(REG_MR, reg_mr, sizeof(struct ib_uverbs_reg_mr),
		sizeof(struct ib_uverbs_reg_mr_resp)),
	LEGACY(DEREG_MR, dereg_mr, 4, 0),
	LEGACY(CREATE_AH, create_ah, sizeof(struct ib_uverbs_create_ah), 4),
	LEGACY(DESTROY_AH, destroy_ah, 4, 0),
	LEGACY(CREATE_COMP_CHANNEL, create_comp_channel, 8, 4),
	LEGACY(CREATE_CQ, create_cq, sizeof(struct ib_uverbs_create_cq), 8),
	LEGACY(DESTROY_CQ, destroy_cq, sizeof(struct ib_uverbs_destroy_cq), 8),
	LEGACY(CREATE_QP, create_qp, sizeof(struct ib_uverbs_create_qp),
		sizeof(struct ib_uverbs_create_qp_resp)),
	LEGACY(QUERY_QP, query_qp, sizeof(struct ib_uverbs_query_qp),
		sizeof(struct ib_uverbs_query_qp_resp)),
	LEGACY(MODIFY_QP, modify_qp, sizeof(struct ib_uverbs_modify_qp), 0),
	LEGACY(DESTROY_QP, destroy_qp, sizeof(struct ib_uverbs_destroy_qp), 4),
	LEGACY(ATTACH_MCAST, attach_mcast, sizeof(struct ib_uverbs_attach_mcast), 0),
	LEGACY(DETACH_MCAST, detach_mcast, sizeof(struct ib_uverbs_detach_mcast), 0),
};

static const struct command extended[] = {
	EXTENDED(QUERY_DEVICE, "query_device", query_device_ex, 8,
		sizeof(struct ib_uverbs_query_device_resp) + 8),
	EXTENDED(CREATE_QP, "create_qp", create_qp_ex, sizeof(struct ib_uverbs_ex_create_qp) - 8,
		sizeof(struct ib_uverbs_ex_create_qp_resp)),
	EXTENDED(CREATE_FLOW, "create_flow", create_flow, sizeof(struct ib_uverbs_create_flow), 8),
	EXTENDED(DESTROY_FLOW, "destroy_flow", destroy_flow, 8, 0),
	EXTENDED(MODIFY_CQ, "modify_cq", modify_cq, 16, 0),
	EXTENDED(CREATE_WQ, "create_wq", create_wq, sizeof(struct ib_uverbs_ex_create_wq),
		sizeof(struct ib_uverbs_ex_create_wq_resp)),
	EXTENDED(MODIFY_WQ, "modify_wq", modify_wq, sizeof(struct ib_uverbs_ex_modify_wq), 0),
	EXTENDED(DESTROY_WQ, "destroy_wq", destroy_wq, sizeof(struct ib_uverbs_ex_destroy_wq), 12),
	EXTENDED(CREATE_RWQ_IND_TBL, "create_table", create_table,
		sizeof(struct ib_uverbs_ex_create_rwq_ind_table) + 4,
		sizeof(struct ib_uverbs_ex_create_rwq_ind_table_resp)),
	EXTENDED(DESTROY_RWQ_IND_TBL, "destroy_table", destroy_table,
		sizeof(struct ib_uverbs_ex_destroy_rwq_ind_table), 0),
};

static const struct command *command_find(uint32_t id)
{
	bool ex = id & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	const struct command *t = ex ? extended : legacy;
	size_t n = ex ? ARRAY_SIZE(extended) : ARRAY_SIZE(legacy);

	id &= ~(uint32_t)IB_USER_VERBS_CMD_FLAG_EXTENDED;
	return id < n && t[id].run ? &t[id] : NULL;
}

static int command_run(struct ctx *ctx, uint32_t id, struct cmd *cmd)
{
	const struct command *c = command_find(id);
	uint64_t req[64] = {0}, resp[64] = {0};
	struct hca *h = ctx->hca;
	int rc;

	if (!c)
		return EOPNOTSUPP;
	if (cmd->in_len < c->in_min || cmd->out_len < c->out_min)
		return ENOSPC;
	memcpy(req, cmd->in, cmd->in_len < sizeof(req) ? cmd->in_len : sizeof(req));
	cmd->req = req;
	cmd->resp = resp;
	flowing_wait(h, c->name);
	latency_half(c->name);
	hca_lock(h);
	if (!ctx->open && c->run != cmd_get_context)
		rc = EINVAL;
	else if (h->fatal)
		rc = EIO;
	else
		rc = fault_verb(h, c->name);
	/* A caller that was notified may free the queues' memory: the device is removed. */
	h->gone |= h->fatal && rc == EIO;
	if (!rc)
		rc = c->run(ctx, cmd);
	if (!rc && cmd->out)
		memcpy(cmd->out, resp, cmd->out_len < sizeof(resp) ? cmd->out_len : sizeof(resp));
	hca_unlock(h);
	latency_half(c->name);
	return rc;
}

/* ---- ioctl methods ---- */

static struct ib_uverbs_attr *attr_find(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	for (uint16_t i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	return NULL;
}

/* Inputs of up to eight bytes travel in the attribute itself. */
static const uint8_t *attr_in(const struct ib_uverbs_attr *a, size_t *len)
{
	*len = a ? a->len : 0;
	if (!a)
		return NULL;
	return a->len <= 8 ? (const uint8_t *)&a->data : (const uint8_t *)(uintptr_t)a->data;
}

static uint8_t *attr_out(struct ib_uverbs_attr *a, size_t *len)
{
	*len = a ? a->len : 0;
	if (!a)
		return NULL;
	a->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	return (uint8_t *)(uintptr_t)a->data;
}

static int attr_put(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, const void *v, size_t n)
{
	size_t len;
	uint8_t *p = attr_out(attr_find(hdr, id), &len);

	if (!p || len < n)
		return EINVAL;
	memcpy(p, v, n);
	return 0;
}

static int method_invoke_write(struct ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *id = attr_find(hdr, UVERBS_ATTR_WRITE_CMD);
	struct cmd cmd = {0};

	if (!id)
		return EINVAL;
	cmd.in = attr_in(attr_find(hdr, UVERBS_ATTR_CORE_IN), &cmd.in_len);
	cmd.out = attr_out(attr_find(hdr, UVERBS_ATTR_CORE_OUT), &cmd.out_len);
	cmd.drv_in = attr_in(attr_find(hdr, UVERBS_ATTR_UHW_IN), &cmd.drv_in_len);
	cmd.drv_out = attr_out(attr_find(hdr, UVERBS_ATTR_UHW_OUT), &cmd.drv_out_len);
	return command_run(ctx, (uint32_t)id->data, &cmd);
}

static int method_gid_entry(struct ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *port = attr_find(hdr, UVERBS_ATTR_QUERY_GID_ENTRY_PORT);
	struct ib_uverbs_attr *index = attr_find(hdr, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX);
	struct ib_uverbs_gid_entry e;

	if (!port || !index || !port->data || (uint32_t)port->data > ctx->hca->conf->nports ||
		(uint32_t)index->data >= GID_TABLE)
		return EINVAL;
	if (!gid_entry_get(ctx->hca, (uint32_t)port->data, (uint32_t)index->data, &e))
		return ENODATA;
	return attr_put(hdr, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &e, sizeof(e));
}

static int method_devx_other(struct ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	size_t in_len, out_len;
	const uint8_t *in = attr_in(attr_find(hdr, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN), &in_len);
	uint8_t *out = attr_out(attr_find(hdr, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT), &out_len);

	if (!ctx->hca->conf->devx)
		return EOPNOTSUPP;
	return in && out ? devx_general(ctx->hca->conf, in, in_len, out, out_len) : EINVAL;
}

/* The only objects whose state it knows are work queues. */
static int method_devx_query(struct ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	size_t in_len, out_len;
	struct ib_uverbs_attr *handle = attr_find(hdr, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE);
	const uint8_t *in = attr_in(attr_find(hdr, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN), &in_len);
	uint8_t *out = attr_out(attr_find(hdr, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT), &out_len);
	const struct qp *wq;
	int rc = EINVAL;

	/* As the kernel does for a context without DEVX. */
	if (!ctx->hca->conf->devx || !handle || !in || !out)
		return EINVAL;
	hca_lock(ctx->hca);
	wq = obj_get(ctx, OBJ_WQ, (uint32_t)handle->data);
	if (wq)
		rc = devx_query_rq(ctx->hca->conf, wq, in, in_len, out, out_len);
	hca_unlock(ctx->hca);
	return rc;
}

static const struct {
	uint16_t object, method;
	int (*run)(struct ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr);
} methods[] = {
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, method_invoke_write},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, method_gid_entry},
	{MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, method_devx_other},
	{MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, method_devx_query},
};

int uverbs_ioctl(struct ctx *ctx, unsigned long request, void *arg)
{
	struct ib_uverbs_ioctl_hdr *hdr = arg;
	int rc = request == RDMA_VERBS_IOCTL ? EPROTONOSUPPORT : ENOTTY;

	for (size_t i = 0; rc == EPROTONOSUPPORT && i < ARRAY_SIZE(methods); i++)
		if (methods[i].object == hdr->object_id && methods[i].method == hdr->method_id)
			rc = methods[i].run(ctx, hdr);
	if (!rc)
		return 0;
	errno = rc;
	return -1;
}

/* Doorbell pages: written by the program, never read, since the records in memory suffice. */
void *uverbs_mmap(struct ctx *ctx, size_t len, int prot, off_t offset)
{
	uint64_t command = ((uint64_t)offset / 4096) >> 8;

	if (command > 3)
		return clock_mmap(ctx->hca, len, (uint32_t)command);
	return mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

struct event_fd *channel_from_fd(struct ctx *ctx, int fd)
{
	struct event_fd *e = event_fd_find(fd);

	return e && e->obj.handle && e->obj.ctx == ctx ? e : NULL;
}

void channel_release(struct event_fd *e)
{
	if (!--e->obj.users && e->closed)
		event_fd_free(e);
}
