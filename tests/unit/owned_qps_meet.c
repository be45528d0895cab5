/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How two processes on two machines connect their queue pairs, and what they send. */
#include "owned_qps_meet.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_PORT 20000
#define AGAIN_MS   50 /* until a connection is tried again */

/* Of the same machine type at both ends. */
struct end {
	union ibv_gid gid;
	uint32_t qpn;
};

static int listen_at(unsigned int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return bind(fd, (struct sockaddr *)&to, sizeof(to)) || listen(fd, 1) ? -1 : fd;
}

static int wait_for(unsigned int port, int end)
{
	struct pollfd fds[] = {
		{.fd = listen_at(port), .events = POLLIN}, {.fd = end, .events = POLLIN}};

	if (fds[0].fd < 0 || poll(fds, 2, -1) < 0 || fds[1].revents)
		return -1;
	return accept(fds[0].fd, NULL, NULL);
}

int meet(const char *peer, unsigned int number, int end)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)(FIRST_PORT + number))};
	struct pollfd over = {.fd = end, .events = POLLIN};

	if (!strcmp(peer, "listen"))
		return wait_for(FIRST_PORT + number, end);
	if (inet_pton(AF_INET, peer, &to.sin_addr) != 1)
		return -1;
	while (poll(&over, 1, AGAIN_MS) == 0) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
			return fd;
		close(fd);
	}
	return -1;
}

/* The index of the first GID that is an IPv4 address. */
static int own_gid(struct ibv_context *context, union ibv_gid *gid)
{
	for (int i = 0; ibv_query_gid(context, 1, i, gid) == 0; i++)
		if (!gid->global.subnet_prefix && gid->raw[10] == 0xff && gid->raw[11] == 0xff)
			return i;
	return -1;
}

static int connect_qp(struct ibv_qp *qp, const struct end *to, int gid)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = to->qpn,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.dgid = to->gid, .sgid_index = (uint8_t)gid, .hop_limit = 8}},
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1};

	if (ibv_modify_qp(qp, &attr,
		    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return -1;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr,
		    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(qp, &attr,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Both are complete once the other end has what was sent here, and this end what was sent there. */
static int send_and_receive(struct ibv_cq *cq, struct ibv_qp *qp, struct ibv_mr *mr, char *data)
{
	struct ibv_sge part[] = {
		{(uintptr_t)data, 64, mr->lkey}, {(uintptr_t)data + 64, 64, mr->lkey}};
	struct ibv_recv_wr receive = {.sg_list = &part[0], .num_sge = 1}, *bad_receive;
	struct ibv_send_wr send = {.sg_list = &part[1],
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad_send;
	struct ibv_wc wc;

	if (ibv_post_recv(qp, &receive, &bad_receive) || ibv_post_send(qp, &send, &bad_send))
		return -1;
	for (int n = 0; n < 2;) {
		int got = ibv_poll_cq(cq, 1, &wc);

		if (got < 0 || (got && wc.status))
			return -1;
		n += got;
		usleep(got ? 0 : 1000);
	}
	return 0;
}

int talk(int socket, struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq,
	struct ibv_qp *qp)
{
	struct end own = {.qpn = qp->qp_num}, other;
	char data[128] = {0};
	int gid = own_gid(context, &own.gid), ret = -1;
	struct ibv_mr *mr = ibv_reg_mr(pd, data, sizeof(data), IBV_ACCESS_LOCAL_WRITE);

	if (gid >= 0 && mr && write(socket, &own, sizeof(own)) == sizeof(own) &&
		recv(socket, &other, sizeof(other), MSG_WAITALL) == sizeof(other) &&
		connect_qp(qp, &other, gid) == 0 && write(socket, "", 1) == 1 &&
		recv(socket, data, 1, MSG_WAITALL) == 1)
		ret = send_and_receive(cq, qp, mr, data);
	if (ret)
		fprintf(stderr, "owned_qps_tool: QP %u: %s\n", qp->qp_num, strerror(errno));
	if (mr)
		ibv_dereg_mr(mr);
	return ret;
}
