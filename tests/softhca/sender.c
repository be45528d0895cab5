/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends by plain verbs between queue pairs of one port, and checks completions and memory: what a
 * program does that looks for its own traffic in a capture. Prints one line per operation.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sender.h"

enum {
	HALF = 1 << 20, /* of the memory: sources, then destinations */
	FIRST_PSN = 0xfffffe,
	QKEY = 0x11111111,
	GRH = 40,
	RAW_LEN = 100,
	PATIENCE_S = 60,
	VLAN_TCI = 0x2065,
};

struct options {
	const char *device;
	unsigned int port, to_port, gid_index, mtu, size, count, timeout, retry;
	bool is_inline;
};

struct sender {
	struct options o;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *sends, *receives;
	struct ibv_mr *mr;
	union ibv_gid gid[2]; /* of the port that sends, and of the one that receives */
	uint8_t *memory;
	struct ibv_qp *from, *to;
	struct ibv_ah *ah;
};

static void die(const char *what)
{
	printf("failed %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(const char *what, int rc)
{
	if (rc) {
		errno = rc;
		die(what);
	}
}

/* ---- queue pairs ---- */

static struct ibv_qp *qp_new(struct sender *s, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {.qp_type = type,
		.send_cq = s->sends,
		.recv_cq = s->receives,
		.cap = {.max_send_wr = 16,
			.max_recv_wr = type == IBV_QPT_RAW_PACKET ? 0 : 16,
			.max_send_sge = 2,
			.max_recv_sge = 2,
			.max_inline_data = 128}};
	struct ibv_qp *qp = ibv_create_qp(s->pd, &attr);

	if (!qp)
		die("ibv_create_qp");
	return qp;
}

static struct ibv_ah_attr address(
	const struct sender *s, unsigned int port, const union ibv_gid *gid)
{
	return (struct ibv_ah_attr){.is_global = 1,
		.port_num = (uint8_t)port,
		.grh = {.dgid = *gid, .sgid_index = (uint8_t)s->o.gid_index, .hop_limit = 64}};
}

static unsigned int port_of(const struct sender *s, const struct ibv_qp *qp)
{
	return qp == s->to ? s->o.to_port : s->o.port;
}

static void rc_connect(struct sender *s, struct ibv_qp *qp, uint32_t dest_qpn)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
		.port_num = (uint8_t)port_of(s, qp),
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && 128u << mtu < s->o.mtu)
		mtu++;
	check("to INIT",
		ibv_modify_qp(qp, &a,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
		.ah_attr = address(s, port_of(s, qp), &s->gid[qp == s->from]),
		.path_mtu = mtu,
		.dest_qp_num = dest_qpn,
		.rq_psn = FIRST_PSN,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 2};
	check("to RTR",
		ibv_modify_qp(qp, &a,
			IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
		.timeout = (uint8_t)s->o.timeout,
		.retry_cnt = (uint8_t)s->o.retry,
		.rnr_retry = 2,
		.sq_psn = FIRST_PSN,
		.max_rd_atomic = 1};
	check("to RTS",
		ibv_modify_qp(qp, &a,
			IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void datagram_start(struct sender *s, struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = (uint8_t)port_of(s, qp), .qkey = QKEY};
	bool ud = qp->qp_type == IBV_QPT_UD;

	check("to INIT",
		ibv_modify_qp(qp, &a,
			IBV_QP_STATE | IBV_QP_PORT | (ud ? IBV_QP_PKEY_INDEX | IBV_QP_QKEY : 0)));
	a.qp_state = IBV_QPS_RTR;
	check("to RTR", ibv_modify_qp(qp, &a, IBV_QP_STATE));
	a.qp_state = IBV_QPS_RTS;
	check("to RTS", ibv_modify_qp(qp, &a, IBV_QP_STATE | (ud ? IBV_QP_SQ_PSN : 0)));
}

/* ---- completions and memory ---- */

static struct ibv_wc wait_for(struct ibv_cq *cq, const char *which)
{
	struct timespec pause = {.tv_nsec = 100000}, now;
	struct ibv_wc wc;
	time_t end;
	int n;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + PATIENCE_S;
	while (!(n = ibv_poll_cq(cq, 1, &wc)) && now.tv_sec < end) {
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	errno = n < 0 ? EIO : ETIMEDOUT;
	if (n != 1)
		die(which);
	return wc;
}

static void fill(struct sender *s, unsigned int round)
{
	for (unsigned int i = 0; i < s->o.size; i++)
		s->memory[i] = (uint8_t)(i * 31 + i / 251 + round);
	memset(s->memory + HALF, 0, HALF);
}

static bool arrived(const struct sender *s, unsigned int offset)
{
	return !memcmp(s->memory, s->memory + HALF + offset, s->o.size);
}

static void post_recv(struct sender *s, struct ibv_qp *qp, uint32_t len)
{
	/* Two pieces, so that packets cross from one to the other. */
	struct ibv_sge sge[2] = {{(uintptr_t)s->memory + HALF, len / 3 + 1, s->mr->lkey},
		{(uintptr_t)s->memory + HALF + len / 3 + 1, len - len / 3, s->mr->lkey}};
	struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = 2}, *bad;

	check("ibv_post_recv", ibv_post_recv(qp, &wr, &bad));
}

static void post_send(struct sender *s, struct ibv_qp *qp, struct ibv_send_wr *wr, uint32_t len)
{
	bool reads = wr->opcode == IBV_WR_RDMA_READ;
	uint64_t local = (uintptr_t)s->memory + (reads ? HALF : 0);
	struct ibv_sge sge[2] = {
		{local, len / 2, s->mr->lkey}, {local + len / 2, len - len / 2, s->mr->lkey}};
	struct ibv_send_wr *bad;

	wr->sg_list = sge;
	wr->num_sge = 2;
	wr->send_flags |= IBV_SEND_SIGNALED;
	if (s->o.is_inline && !reads)
		wr->send_flags |= IBV_SEND_INLINE;
	check("ibv_post_send", ibv_post_send(qp, wr, &bad));
}

/* ---- operations: each returns whether it went as it should ---- */

struct op {
	const char *name;
	bool (*run)(struct sender *s, const struct op *op, unsigned int round);
	enum ibv_qp_type type;
	enum ibv_wr_opcode opcode;
	enum ibv_wc_status status; /* that the send must end with */
};

static bool run_rc(struct sender *s, const struct op *op, unsigned int round)
{
	bool reads = op->opcode == IBV_WR_RDMA_READ;
	bool receives = op->opcode == IBV_WR_SEND || op->opcode == IBV_WR_SEND_WITH_IMM ||
			op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_send_wr wr = {.opcode = op->opcode,
		.wr_id = 1000 + round,
		.imm_data = htonl(0xabc00000 + round),
		.wr.rdma = {.remote_addr = (uintptr_t)s->memory + (reads ? 0 : HALF),
			.rkey = s->mr->rkey}};
	struct ibv_wc wc;

	fill(s, round);
	if (op->status == IBV_WC_REM_ACCESS_ERR)
		wr.wr.rdma.rkey ^= 0x55;
	if (receives && op->status == IBV_WC_SUCCESS)
		post_recv(s, s->to, s->o.size);
	post_send(s, s->from, &wr, s->o.size);
	wc = wait_for(s->sends, "waiting for the send");
	if (wc.status != op->status || wc.wr_id != wr.wr_id)
		printf("status %s\n", ibv_wc_status_str(wc.status));
	if (wc.status != op->status || wc.wr_id != wr.wr_id || op->status != IBV_WC_SUCCESS)
		return wc.status == op->status && wc.wr_id == wr.wr_id;
	if (reads && wc.byte_len != s->o.size)
		return false;
	if (receives) {
		wc = wait_for(s->receives, "waiting for the receive");
		if (wc.status != IBV_WC_SUCCESS ||
			(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data != wr.imm_data) ||
			(op->opcode != IBV_WR_SEND && !(wc.wc_flags & IBV_WC_WITH_IMM)) ||
			(op->opcode != IBV_WR_RDMA_WRITE_WITH_IMM && wc.byte_len != s->o.size))
			return false;
	}
	return arrived(s, 0);
}

static bool run_ud(struct sender *s, const struct op *op, unsigned int round)
{
	bool group = op->opcode == IBV_WR_SEND_WITH_IMM;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
		.wr.ud = {.ah = s->ah,
			.remote_qpn = group ? 0xffffff : s->to->qp_num,
			.remote_qkey = QKEY}};
	struct ibv_wc wc;

	fill(s, round);
	post_recv(s, s->to, s->o.size + GRH);
	post_send(s, s->from, &wr, s->o.size);
	if (wait_for(s->sends, "waiting for the send").status != IBV_WC_SUCCESS)
		return false;
	wc = wait_for(s->receives, "waiting for the datagram");
	return wc.status == IBV_WC_SUCCESS && wc.byte_len == s->o.size + GRH &&
	       wc.wc_flags & IBV_WC_GRH && wc.src_qp == s->from->qp_num && arrived(s, GRH);
}

/* UDP, with an 802.1Q tag if requested; no program receives it. */
static bool run_raw(struct sender *s, const struct op *op, unsigned int round)
{
	static const uint8_t ip[] = {0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 77, 0, 2, 10, 77,
		0, 9, 0x12, 0x34, 0, 9, 0, 0, 0, 0};
	bool tagged = op->opcode == IBV_WR_SEND_WITH_IMM;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	uint8_t *p = s->memory;

	memset(p, (int)round, RAW_LEN);
	memcpy(p, "\x02\x00\x00\x00\x00\x09\x02\x00\x00\x00\x00\x01", 12);
	p += 12;
	if (tagged) {
		const uint8_t tag[4] = {0x81, 0, VLAN_TCI >> 8, VLAN_TCI & 0xff};

		memcpy(p, tag, sizeof(tag));
		p += sizeof(tag);
	}
	memcpy(p, "\x08\x00", 2);
	memcpy(p + 2, ip, sizeof(ip));
	p[2 + 3] = p[2 + 25] = (uint8_t)(s->memory + RAW_LEN - (p + 2));
	p[2 + 25] = (uint8_t)(p[2 + 25] - 20);
	post_send(s, s->from, &wr, RAW_LEN);
	return wait_for(s->sends, "waiting for the send").status == IBV_WC_SUCCESS;
}

static const struct op ops[] = {
	{"write", run_rc, IBV_QPT_RC, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS},
	{"write_imm", run_rc, IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_SUCCESS},
	{"send", run_rc, IBV_QPT_RC, IBV_WR_SEND, IBV_WC_SUCCESS},
	{"send_imm", run_rc, IBV_QPT_RC, IBV_WR_SEND_WITH_IMM, IBV_WC_SUCCESS},
	{"read", run_rc, IBV_QPT_RC, IBV_WR_RDMA_READ, IBV_WC_SUCCESS},
	{"bad_rkey", run_rc, IBV_QPT_RC, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR},
	{"no_receive", run_rc, IBV_QPT_RC, IBV_WR_SEND, IBV_WC_RNR_RETRY_EXC_ERR},
	{"no_peer", run_rc, IBV_QPT_RC, IBV_WR_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR},
	{"ud", run_ud, IBV_QPT_UD, IBV_WR_SEND, IBV_WC_SUCCESS},
	{"multicast", run_ud, IBV_QPT_UD, IBV_WR_SEND_WITH_IMM, IBV_WC_SUCCESS},
	{"raw", run_raw, IBV_QPT_RAW_PACKET, IBV_WR_SEND, IBV_WC_SUCCESS},
	{"raw_vlan", run_raw, IBV_QPT_RAW_PACKET, IBV_WR_SEND_WITH_IMM, IBV_WC_SUCCESS},
};

static union ibv_gid group_of(const struct sender *s)
{
	static const uint8_t v4[16] = {[10] = 0xff, 0xff, 224, 1, 2, 3};
	static const uint8_t v6[16] = {0xff, 0x0e, [15] = 0x77};
	union ibv_gid gid;

	memcpy(gid.raw, s->gid[0].raw[0] == 0xfe ? v6 : v4, sizeof(gid.raw));
	return gid;
}

static void datagram_setup(struct sender *s, const struct op *op, union ibv_gid *group)
{
	struct ibv_ah_attr attr;

	datagram_start(s, s->from);
	datagram_start(s, s->to);
	if (op->type != IBV_QPT_UD)
		return;
	*group = op->opcode == IBV_WR_SEND ? s->gid[1] : group_of(s);
	attr = address(s, s->o.port, group);
	s->ah = ibv_create_ah(s->pd, &attr);
	if (!s->ah)
		die("ibv_create_ah");
	if (op->opcode != IBV_WR_SEND)
		check("ibv_attach_mcast", ibv_attach_mcast(s->to, group, 0));
}

static bool op_run(struct sender *s, const struct op *op)
{
	unsigned int rounds = op->status == IBV_WC_SUCCESS ? s->o.count : 1, good = 0;
	union ibv_gid group;
	struct ibv_wc wc;

	s->from = qp_new(s, op->type);
	s->to = qp_new(s, op->type);
	if (op->type == IBV_QPT_RC) {
		bool gone = op->status == IBV_WC_RETRY_EXC_ERR;

		rc_connect(s, s->from, gone ? 0x7777 : s->to->qp_num);
		rc_connect(s, s->to, s->from->qp_num);
	} else {
		datagram_setup(s, op, &group);
	}
	while (good < rounds && op->run(s, op, good))
		good++;
	if (op->type == IBV_QPT_UD && op->opcode != IBV_WR_SEND)
		check("ibv_detach_mcast", ibv_detach_mcast(s->to, &group, 0));
	if (s->ah)
		check("ibv_destroy_ah", ibv_destroy_ah(s->ah));
	s->ah = NULL;
	check("ibv_destroy_qp", ibv_destroy_qp(s->from) || ibv_destroy_qp(s->to));
	while (ibv_poll_cq(s->receives, 1, &wc) > 0)
		;
	printf("%s %u of %u\n", op->name, good, rounds);
	return good == rounds;
}

/* ---- the program ---- */

static void setup(struct sender *s)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (unsigned int i = 0; list && list[i] && !s->ctx; i++)
		if (!s->o.device || !strcmp(s->o.device, ibv_get_device_name(list[i])))
			s->ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!s->ctx)
		die("ibv_open_device");
	if (ibv_query_gid(s->ctx, (uint8_t)s->o.port, (int)s->o.gid_index, &s->gid[0]) ||
		ibv_query_gid(s->ctx, (uint8_t)s->o.to_port, (int)s->o.gid_index, &s->gid[1]))
		die("ibv_query_gid");
	s->memory = calloc(2, HALF);
	s->pd = ibv_alloc_pd(s->ctx);
	s->sends = ibv_create_cq(s->ctx, 64, NULL, NULL, 0);
	s->receives = ibv_create_cq(s->ctx, 64, NULL, NULL, 0);
	if (!s->memory || !s->pd || !s->sends || !s->receives)
		die("setup");
	s->mr = ibv_reg_mr(s->pd, s->memory, 2 * (size_t)HALF,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!s->mr)
		die("ibv_reg_mr");
}

static void parse(struct options *o, int argc, char **argv)
{
	unsigned int *const number[256] = {
		['p'] = &o->port,
		['P'] = &o->to_port,
		['g'] = &o->gid_index,
		['m'] = &o->mtu,
		['s'] = &o->size,
		['c'] = &o->count,
		['t'] = &o->timeout,
		['r'] = &o->retry,
	};
	int c;

	while ((c = getopt(argc, argv, "d:p:P:g:m:s:c:t:r:i")) != -1) {
		if (c == 'd')
			o->device = optarg;
		else if (c == 'i')
			o->is_inline = true;
		else if (c < 256 && number[c])
			*number[c] = (unsigned int)strtoul(optarg, NULL, 0);
		else
			exit(2);
	}
	if (!o->to_port)
		o->to_port = o->port;
	if (o->size > HALF - GRH)
		o->size = HALF - GRH;
}

int sender_run(int argc, char **argv)
{
	struct sender s = {.o = {.port = 1,
				   .gid_index = 3,
				   .mtu = 1024,
				   .size = 1000,
				   .count = 1,
				   .timeout = 8,
				   .retry = 7}};
	bool good = true;

	parse(&s.o, argc, argv);
	setup(&s);
	for (; optind < argc; optind++) {
		const struct op *op = NULL;

		for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
			if (!strcmp(ops[i].name, argv[optind]))
				op = &ops[i];
		if (!op) {
			printf("no operation '%s'\n", argv[optind]);
			return 2;
		}
		good &= op_run(&s, op);
	}
	check("teardown", ibv_dereg_mr(s.mr) || ibv_destroy_cq(s.sends) ||
				  ibv_destroy_cq(s.receives) || ibv_dealloc_pd(s.pd) ||
				  ibv_close_device(s.ctx));
	free(s.memory);
	return good ? 0 : 1;
}
