/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Verbs traffic with known counts between two ends that meet in a shared directory, so that nothing
 * but RDMA is on the wire: any service, any operation, and the errors that perftest cannot make.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define QPS_MOST   128
#define MEMORY	   (1u << 20)
#define SEND_HALF  (MEMORY / 2) /* offset of what is received */
#define CQ_DEPTH   8192
#define GIDS_MOST  64
#define GRH_BYTES  40
#define QKEY	   0x11111111
#define WAIT_MS	   60000
#define STATUSES   32
#define MULTICAST  0xffffff
#define OPS_MOST   16
#define RECV_WR_ID (UINT64_C(1) << 63)

struct op {
	const struct kind *kind;
	uint32_t size;
	unsigned int count;
};

struct options {
	const char *side, *exchange, *device, *address, *multicast;
	enum ibv_qp_type type;
	unsigned int mtu, qps, recvs, recv_size, timeout, retry, rnr_retry, rnr_timer, read_depth,
		depth;
	int access, expect;
	bool srq, bad_rkey;
	struct op ops[OPS_MOST];
	unsigned int n_ops;
};

struct end {
	uint32_t qpn[QPS_MOST], psn[QPS_MOST], rkey;
	uint64_t address;
	union ibv_gid gid;
};

struct traffic {
	struct options o;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[QPS_MOST];
	struct ibv_ah *ah;
	uint8_t *memory;
	int gid_index, group_socket;
	struct end me, peer;
	unsigned int in_flight[QPS_MOST];
	bool broken[QPS_MOST];
	unsigned int sent[STATUSES], received[STATUSES];
};

static const struct kind {
	const char *name;
	enum ibv_wr_opcode opcode;
	bool needs_recv;
} kinds[] = {
	{"send", IBV_WR_SEND, true},
	{"send_imm", IBV_WR_SEND_WITH_IMM, true},
	{"send_inv", IBV_WR_SEND_WITH_INV, true},
	{"write", IBV_WR_RDMA_WRITE, false},
	{"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM, true},
	{"read", IBV_WR_RDMA_READ, false},
	{"cas", IBV_WR_ATOMIC_CMP_AND_SWP, false},
	{"fadd", IBV_WR_ATOMIC_FETCH_AND_ADD, false},
};

static void die(const char *what)
{
	fprintf(stderr, "traffic: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* --- meeting ------------------------------------------------------------------------------ */

static void path_of(
	const struct options *o, char *path, size_t room, const char *side, const char *what)
{
	snprintf(path, room, "%s.%s.%s", o->exchange, side, what);
}

static const char *other_side(const struct options *o)
{
	return o->side[0] == 'a' ? "b" : "a";
}

static void publish(const struct traffic *t, const char *what)
{
	char path[512], made[520];
	FILE *f;

	path_of(&t->o, path, sizeof(path), t->o.side, what);
	snprintf(made, sizeof(made), "%s.new", path);
	f = fopen(made, "we");
	if (!f)
		die(made);
	fprintf(f, "%" PRIu32 " %" PRIu64, t->me.rkey, t->me.address);
	for (int i = 0; i < 16; i++)
		fprintf(f, " %u", (unsigned int)t->me.gid.raw[i]);
	for (unsigned int i = 0; i < t->o.qps; i++)
		fprintf(f, " %" PRIu32 " %" PRIu32, t->me.qpn[i], t->me.psn[i]);
	if (fclose(f) || rename(made, path))
		die(path);
}

static bool published(const struct traffic *t, const char *what)
{
	char path[512];

	path_of(&t->o, path, sizeof(path), other_side(&t->o), what);
	return access(path, F_OK) == 0;
}

static void wait_for(const struct traffic *t, const char *what)
{
	for (long waited = 0; !published(t, what); waited += 2) {
		if (waited > WAIT_MS) {
			errno = ETIMEDOUT;
			die(what);
		}
		pause_ms(2);
	}
}

static void read_peer(struct traffic *t)
{
	char path[512];
	FILE *f;
	bool good;

	path_of(&t->o, path, sizeof(path), other_side(&t->o), "info");
	f = fopen(path, "re");
	if (!f)
		die(path);
	good = fscanf(f, "%" SCNu32 " %" SCNu64, &t->peer.rkey, &t->peer.address) == 2;
	for (int i = 0; i < 16; i++) {
		unsigned int byte = 0;

		good = good && fscanf(f, "%u", &byte) == 1;
		t->peer.gid.raw[i] = (uint8_t)byte;
	}
	for (unsigned int i = 0; i < t->o.qps; i++)
		good = good &&
		       fscanf(f, "%" SCNu32 " %" SCNu32, &t->peer.qpn[i], &t->peer.psn[i]) == 2;
	fclose(f);
	errno = EINVAL;
	if (!good)
		die(path);
}

/* --- opening ------------------------------------------------------------------------------ */

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

/* The place of the address in the GID table. */
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
	for (int i = 0; i < GIDS_MOST; i++) {
		if (ibv_query_gid(t->ctx, 1, i, &gid) == 0 &&
			memcmp(&gid, &wanted, sizeof(gid)) == 0) {
			t->gid_index = i;
			t->me.gid = gid;
			return;
		}
	}
	errno = EADDRNOTAVAIL;
	die(t->o.address);
}

static void open_memory(struct traffic *t)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	t->pd = ibv_alloc_pd(t->ctx);
	t->cq = ibv_create_cq(t->ctx, CQ_DEPTH, NULL, NULL, 0);
	t->memory = aligned_alloc(4096, MEMORY);
	if (!t->pd || !t->cq || !t->memory)
		die("memory");
	for (unsigned int i = 0; i < MEMORY; i++)
		t->memory[i] = (uint8_t)(i * 7);
	t->mr = ibv_reg_mr(t->pd, t->memory, MEMORY, access);
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
		.grh = {.dgid = *gid, .sgid_index = (uint8_t)t->gid_index, .hop_limit = 64}};
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

/* The kernel's IP takes a group's packets only for those who joined; rxe sees them after it. */
static void join_group(struct traffic *t)
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

/* --- work --------------------------------------------------------------------------------- */

static void post_recvs(struct traffic *t)
{
	struct ibv_sge sge = {.addr = t->me.address + SEND_HALF,
		.length = t->o.recv_size + (t->o.type == IBV_QPT_UD ? GRH_BYTES : 0),
		.lkey = t->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1, .wr_id = RECV_WR_ID}, *bad;

	for (unsigned int q = 0; q < (t->srq ? 1 : t->o.qps); q++) {
		for (unsigned int i = 0; i < t->o.recvs; i++) {
			errno = t->srq ? ibv_post_srq_recv(t->srq, &wr, &bad)
				       : ibv_post_recv(t->qp[q], &wr, &bad);
			if (errno)
				die("posting a receive");
		}
	}
}

static void post(struct traffic *t, unsigned int q, const struct op *op)
{
	const bool atomic = op->kind->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			    op->kind->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	const uint32_t rkey = t->o.bad_rkey ? t->peer.rkey ^ 0x5500 : t->peer.rkey;
	struct ibv_sge sge = {
		.addr = t->me.address, .length = atomic ? 8 : op->size, .lkey = t->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = q,
				   .sg_list = &sge,
				   .num_sge = 1,
				   .opcode = op->kind->opcode,
				   .send_flags = IBV_SEND_SIGNALED,
				   .imm_data = htonl(0xabc00000)},
			   *bad;

	if (op->kind->opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = rkey;
	if (t->o.type == IBV_QPT_UD) {
		wr.wr.ud.ah = t->ah;
		wr.wr.ud.remote_qpn = t->o.multicast ? MULTICAST : t->peer.qpn[q];
		wr.wr.ud.remote_qkey = QKEY;
	} else if (atomic) {
		wr.wr.atomic.remote_addr = t->peer.address;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.swap = 2;
	} else {
		wr.wr.rdma.remote_addr = t->peer.address + SEND_HALF;
		wr.wr.rdma.rkey = rkey;
	}
	errno = ibv_post_send(t->qp[q], &wr, &bad);
	if (errno)
		die("ibv_post_send");
	t->in_flight[q]++;
}

static unsigned int reap(struct traffic *t)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(t->cq, 16, wc);

	for (int i = 0; i < n; i++) {
		unsigned int status = (unsigned int)wc[i].status % STATUSES;

		if (wc[i].wr_id & RECV_WR_ID) {
			t->received[status]++;
			continue;
		}
		t->sent[status]++;
		t->in_flight[wc[i].wr_id]--;
		if (status)
			t->broken[wc[i].wr_id] = true;
	}
	if (n < 0)
		die("ibv_poll_cq");
	if (!n)
		pause_ms(1);
	return (unsigned int)n;
}

/* Each QP does the operation `count` times, `depth` of them in flight. */
static void run_op(struct traffic *t, const struct op *op)
{
	unsigned int left[QPS_MOST], open = t->o.qps;

	for (unsigned int q = 0; q < t->o.qps; q++)
		left[q] = op->count;
	while (open) {
		open = 0;
		for (unsigned int q = 0; q < t->o.qps; q++) {
			while (left[q] && !t->broken[q] && t->in_flight[q] < t->o.depth) {
				post(t, q, op);
				left[q]--;
			}
			open += t->in_flight[q] || (left[q] && !t->broken[q]);
		}
		reap(t);
	}
	printf("%s of %" PRIu32 " bytes, %u on each of %u QPs\n", op->kind->name, op->size,
		op->count, t->o.qps);
}

static void print_counts(const char *what, const unsigned int *counts)
{
	for (unsigned int i = 0; i < STATUSES; i++)
		if (counts[i])
			printf("%s %u with status %u (%s)\n", what, counts[i], i,
				ibv_wc_status_str((enum ibv_wc_status)i));
}

static void print_qps(const struct traffic *t)
{
	for (unsigned int i = 0; i < t->o.qps; i++)
		printf("QP 0x%06x PSN 0x%06x to QP 0x%06x, rkey 0x%08x\n", t->me.qpn[i],
			t->me.psn[i], t->peer.qpn[i], t->me.rkey);
}

/* With --expect all that fails does so with that status, or is flushed after it. */
static bool as_expected(const struct traffic *t)
{
	unsigned int failed = 0;

	for (unsigned int i = 1; i < STATUSES; i++)
		if (i != IBV_WC_WR_FLUSH_ERR && (int)i != t->o.expect)
			failed += t->sent[i];
	if (t->o.expect > 0 && !t->sent[t->o.expect])
		failed++;
	return !failed;
}

static void close_all(struct traffic *t)
{
	if (t->ah)
		ibv_destroy_ah(t->ah);
	for (unsigned int i = 0; i < t->o.qps; i++)
		ibv_destroy_qp(t->qp[i]);
	if (t->srq)
		ibv_destroy_srq(t->srq);
	ibv_dereg_mr(t->mr);
	ibv_destroy_cq(t->cq);
	ibv_dealloc_pd(t->pd);
	ibv_close_device(t->ctx);
	free(t->memory);
}

static int run(struct traffic *t)
{
	open_device(t);
	find_gid(t);
	open_memory(t);
	for (unsigned int i = 0; i < t->o.qps; i++)
		create_qp(t, i);
	post_recvs(t);
	if (t->o.multicast && t->o.recvs)
		join_group(t);
	publish(t, "info");
	wait_for(t, "info");
	read_peer(t);
	for (unsigned int i = 0; i < t->o.qps; i++)
		connect_qp(t, i);
	if (t->o.type == IBV_QPT_UD)
		open_path(t);
	publish(t, "ready");
	wait_for(t, "ready");
	for (unsigned int i = 0; i < t->o.n_ops; i++)
		run_op(t, &t->o.ops[i]);
	publish(t, "done");
	while (!published(t, "done") || reap(t))
		reap(t);
	print_qps(t);
	print_counts("sent", t->sent);
	print_counts("received", t->received);
	/* An answer to what comes late needs the QP of the other end too. */
	publish(t, "counted");
	wait_for(t, "counted");
	close_all(t);
	return as_expected(t) ? 0 : 1;
}

/* --- arguments ---------------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{"side", 's', "a|b", 0, "which end this is (default: $SIDE)", 0},
	{"exchange", 'x', "PREFIX", 0, "of the files where both ends meet", 0},
	{"device", 'd', "DEV", 0, "RDMA device (default rxe0)", 0},
	{"address", 'l', "IP", 0, "this end's address (default: $SELF)", 0},
	{"type", 'T', "rc|uc|ud", 0, "service (default rc)", 0},
	{"mtu", 'm', "BYTES", 0, "path MTU (default 1024)", 0},
	{"qps", 'q', "N", 0, "QPs (default 1)", 0},
	{"srq", 'S', 0, 0, "receive through one SRQ", 0},
	{"recvs", 'r', "N", 0, "receives posted on each QP, or on the SRQ (default 0)", 0},
	{"recv-size", 'R', "BYTES", 0, "of each (default 65536)", 0},
	{"allow", 'A', "rwa", 0, "what the peer may: read, write, atomic (default all; '-' none)",
		0},
	{"timeout", 't', "N", 0, "local ACK timeout, 4.096 us * 2^N (default 18)", 0},
	{"retry", 'y', "N", 0, "retries (default 6; 7 is for ever in rxe)", 0},
	{"rnr-retry", 'n', "N", 0, "RNR retries (default 7)", 0},
	{"rnr-timer", 'N', "N", 0, "encoded RNR timer of this end (default 1: 10 us)", 0},
	{"read-depth", 'D', "N", 0, "outstanding reads and atomics (default 4)", 0},
	{"depth", 'p', "N", 0, "operations in flight on each QP (default 16)", 0},
	{"bad-rkey", 'k', 0, 0, "use a key that the peer never gave", 0},
	{"multicast", 'M', "IP", 0, "UD to this group; with --recvs join it", 0},
	{"expect", 'e', "STATUS", 0, "the completion status that must come (number)", 0},
	{0},
};

static unsigned int number(struct argp_state *state, const char *arg, unsigned long most)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 0);

	if (*end || n > most)
		argp_error(state, "'%s' is no number up to %lu", arg, most);
	return (unsigned int)n;
}

static enum ibv_qp_type qp_type(struct argp_state *state, const char *arg)
{
	static const struct {
		const char *name;
		enum ibv_qp_type type;
	} types[] = {{"rc", IBV_QPT_RC}, {"uc", IBV_QPT_UC}, {"ud", IBV_QPT_UD}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(arg, types[i].name) == 0)
			return types[i].type;
	argp_error(state, "'%s' is none of rc, uc, ud", arg);
	return IBV_QPT_RC;
}

static int access_of(const char *arg)
{
	return IBV_ACCESS_LOCAL_WRITE | (strchr(arg, 'r') ? IBV_ACCESS_REMOTE_READ : 0) |
	       (strchr(arg, 'w') ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (strchr(arg, 'a') ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static void add_op(struct argp_state *state, struct options *o, const char *arg)
{
	struct op op = {0};
	char name[16] = "";

	if (sscanf(arg, "%15[a-z_]:%" SCNu32 ":%u", name, &op.size, &op.count) == 3)
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strcmp(name, kinds[i].name) == 0)
				op.kind = &kinds[i];
	if (!op.kind || op.size > SEND_HALF || o->n_ops == OPS_MOST)
		argp_error(state, "'%s' is no KIND:BYTES:COUNT", arg);
	o->ops[o->n_ops++] = op;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct {
		int key;
		unsigned int *to;
		unsigned long most;
	} const numbers[] = {{'m', &o->mtu, 4096}, {'q', &o->qps, QPS_MOST}, {'r', &o->recvs, 4096},
		{'R', &o->recv_size, SEND_HALF - GRH_BYTES}, {'t', &o->timeout, 31},
		{'y', &o->retry, 7}, {'n', &o->rnr_retry, 7}, {'N', &o->rnr_timer, 31},
		{'D', &o->read_depth, 128}, {'p', &o->depth, 1024}};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i].key == key) {
			*numbers[i].to = number(state, arg, numbers[i].most);
			return 0;
		}
	}
	switch (key) {
	case 's':
		o->side = arg;
		break;
	case 'x':
		o->exchange = arg;
		break;
	case 'd':
		o->device = arg;
		break;
	case 'l':
		o->address = arg;
		break;
	case 'T':
		o->type = qp_type(state, arg);
		break;
	case 'S':
		o->srq = true;
		break;
	case 'A':
		o->access = access_of(arg);
		break;
	case 'k':
		o->bad_rkey = true;
		break;
	case 'M':
		o->multicast = arg;
		break;
	case 'e':
		o->expect = (int)number(state, arg, STATUSES - 1);
		break;
	case ARGP_KEY_ARG:
		add_op(state, o, arg);
		break;
	case ARGP_KEY_END:
		if (!o->side || !o->exchange || !o->address || !o->qps || !o->depth)
			argp_error(state, "needs --side, --exchange and --address");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[KIND:BYTES:COUNT...]",
	.doc = "Does these operations on each QP, against a traffic that runs at the other end. "
	       "KIND is "
	       "send, send_imm, send_inv, write, write_imm, read, cas or fadd.",
};

int main(int argc, char **argv)
{
	static struct traffic t;

	t.o = (struct options){.side = getenv("SIDE"),
		.device = "rxe0",
		.address = getenv("SELF"),
		.type = IBV_QPT_RC,
		.mtu = 1024,
		.qps = 1,
		.recv_size = 65536,
		.timeout = 18,
		.retry = 6,
		.rnr_retry = 7,
		.rnr_timer = 1,
		.read_depth = 4,
		.depth = 16,
		.access = access_of("rwa")};
	argp_parse(&argp, argc, argv, 0, NULL, &t.o);
	srandom((unsigned int)getpid() + (unsigned int)t.o.side[0] * 65536u);
	return run(&t);
}
