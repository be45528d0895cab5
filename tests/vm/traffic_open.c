/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens and connects what the program traffic needs: device, memory, QPs. */
#include "traffic.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <sys/socket.h>

#define CQ_DEPTH 8192
#define GIDS_MAX 64
/* A constant: ibv_reg_mr() is a macro that may convert it to unsigned. */
#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC)

static void open_device(struct traffic *t)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	for (int i = 0; list && i < n; i++)
		if (!t->ctx && strcmp(ibv_get_device_name(list[i]), t->o.device) == 0)
			t->ctx = ibv_open_device(list[i]);
	if (!t->ctx)
		die(t->o.device);
	ibv_free_device_list(list);
}

/* The index of the address in the GID table. */
static void to_gid(const char *address, union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	memset(gid, 0, sizeof(*gid));
	if (inet_pton(AF_INET6, address, gid->raw) == 1)
		return;
	memcpy(gid->raw, mapped, sizeof(mapped));
	errno = EINVAL;
	if (inet_pton(AF_INET, address, gid->raw + 12) != 1)
		die(address);
}

static void find_gid(struct traffic *t)
{
	union ibv_gid wanted, gid;

	to_gid(t->o.address, &wanted);
	for (int i = 0; i < GIDS_MAX; i++) {
		if (ibv_query_gid(t->ctx, 1, i, &gid) == 0 &&
			memcmp(&gid, &wanted, sizeof(gid)) == 0) {
			t->gid_index = i;
			t->me.gid = gid;
			if (t->o.advertised)
				to_gid(t->o.advertised, &t->me.gid);
			return;
		}
	}
	errno = EADDRNOTAVAIL;
	die(t->o.address);
}

static void open_memory(struct traffic *t)
{
	t->pd = ibv_alloc_pd(t->ctx);
	t->cq = ibv_create_cq(t->ctx, CQ_DEPTH, NULL, NULL, 0);
	t->memory = aligned_alloc(4096, MEMORY);
	if (!t->pd || !t->cq || !t->memory)
		die("memory");
	for (unsigned int i = 0; i < MEMORY; i++)
		t->memory[i] = (uint8_t)(i * 7);
	t->mr = ibv_reg_mr(t->pd, t->memory, MEMORY, ACCESS);
	if (!t->mr)
		die("ibv_reg_mr");
	t->me.rkey = t->mr->rkey;
	t->me.address = (uintptr_t)t->memory;
	if (t->o.srq) {
		struct ibv_srq_init_attr attr = {.attr = {.max_wr = t->o.recvs + 1, .max_sge = 1}};

		t->srq = ibv_create_srq(t->pd, &attr);
		if (!t->srq)
			die("ibv_create_srq");
	}
}

static void create_qp(struct traffic *t, unsigned int i)
{
	struct ibv_qp_init_attr init = {.send_cq = t->cq,
		.recv_cq = t->cq,
		.srq = t->srq,
		.cap = {.max_send_wr = t->o.depth + 1,
			.max_recv_wr = t->o.recvs + 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = t->o.type};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = (unsigned int)t->o.access};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	t->qp[i] = ibv_create_qp(t->pd, &init);
	if (!t->qp[i])
		die("ibv_create_qp");
	mask |= t->o.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	errno = ibv_modify_qp(t->qp[i], &attr, mask);
	if (errno)
		die("INIT");
	t->me.qpn[i] = t->qp[i]->qp_num;
	t->me.psn[i] = (uint32_t)random() & 0xffffff;
}

static struct ibv_ah_attr path_to(const struct traffic *t, const union ibv_gid *gid)
{
	return (struct ibv_ah_attr){.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = *gid,
			.sgid_index = (uint8_t)t->gid_index,
			.traffic_class = (uint8_t)t->o.traffic_class,
			.hop_limit = 64}};
}

static enum ibv_mtu mtu_of(unsigned int bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (256u << (mtu - IBV_MTU_256) < bytes && mtu < IBV_MTU_4096)
		mtu++;
	return mtu;
}

static void connect_qp(struct traffic *t, unsigned int i)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_of(t->o.mtu),
		.dest_qp_num = t->peer.qpn[i],
		.rq_psn = t->peer.psn[i],
		.max_dest_rd_atomic = (uint8_t)t->o.read_depth,
		.min_rnr_timer = (uint8_t)t->o.rnr_timer,
		.ah_attr = path_to(t, &t->peer.gid)};
	int mask = IBV_QP_STATE;

	if (t->o.type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (t->o.type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	errno = ibv_modify_qp(t->qp[i], &attr, mask);
	if (errno)
		die("RTR");
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
		.sq_psn = t->me.psn[i],
		.timeout = (uint8_t)t->o.timeout,
		.retry_cnt = (uint8_t)t->o.retry,
		.rnr_retry = (uint8_t)t->o.rnr_retry,
		.max_rd_atomic = (uint8_t)t->o.read_depth};
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (t->o.type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	errno = ibv_modify_qp(t->qp[i], &attr, mask);
	if (errno)
		die("RTS");
}

/* The kernel's IP layer drops a group's packets unless the host joined it, before rxe. */
void join_group(struct traffic *t)
{
	union ibv_gid gid;
	struct ip_mreqn group = {0};

	to_gid(t->o.multicast, &gid);
	memcpy(&group.imr_multiaddr, gid.raw + 12, 4);
	inet_pton(AF_INET, t->o.address, &group.imr_address);
	t->group_socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (t->group_socket < 0 ||
		setsockopt(t->group_socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)))
		die("joining the group");
	errno = ibv_attach_mcast(t->qp[0], &gid, 0);
	if (errno)
		die("ibv_attach_mcast");
}

static void open_path(struct traffic *t)
{
	union ibv_gid gid = t->peer.gid;
	struct ibv_ah_attr attr;

	if (t->o.multicast)
		to_gid(t->o.multicast, &gid);
	attr = path_to(t, &gid);
	t->ah = ibv_create_ah(t->pd, &attr);
	if (!t->ah)
		die("ibv_create_ah");
}

void open_end(struct traffic *t)
{
	open_device(t);
	find_gid(t);
	open_memory(t);
	for (unsigned int i = 0; i < t->o.qps; i++)
		create_qp(t, i);
}

void connect_end(struct traffic *t)
{
	for (unsigned int i = 0; i < t->o.qps; i++)
		connect_qp(t, i);
	if (t->o.type == IBV_QPT_UD)
		open_path(t);
}

void destroy_qps(struct traffic *t)
{
	for (unsigned int i = 0; i < t->o.qps && t->qp[i]; i++) {
		ibv_destroy_qp(t->qp[i]);
		t->qp[i] = NULL;
	}
}

void deregister(struct traffic *t)
{
	if (t->mr)
		ibv_dereg_mr(t->mr);
	t->mr = NULL;
}

void close_end(struct traffic *t)
{
	if (t->ah)
		ibv_destroy_ah(t->ah);
	destroy_qps(t);
	if (t->srq)
		ibv_destroy_srq(t->srq);
	deregister(t);
	ibv_destroy_cq(t->cq);
	ibv_dealloc_pd(t->pd);
	ibv_close_device(t->ctx);
	free(t->memory);
}
