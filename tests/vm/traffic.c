/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Verbs traffic with known counts between two ends that meet in a shared directory, so that nothing
 * but RDMA is on the wire: any service, any operation, and the errors that perftest cannot make.
 */
#include "traffic.h"
#include <arpa/inet.h>
#include <signal.h>

#define MULTICAST  0xffffff
#define RECV_WR_ID (UINT64_C(1) << 63)

void die(const char *what)
{
	fprintf(stderr, "traffic: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* SIGUSR1: its QPs go, SIGUSR2: its memory, while the process runs on. */
static volatile sig_atomic_t what_goes;

static void on_signal(int signal)
{
	what_goes = signal;
}

static void obey(struct traffic *t)
{
	if (what_goes == SIGUSR1)
		destroy_qps(t);
	if (what_goes == SIGUSR2)
		deregister(t);
	what_goes = 0;
}

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
	unsigned int left[QPS_MAX], open = t->o.qps;

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

/* With --expect all failures have that status, or are flushed after it. */
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

static int run(struct traffic *t)
{
	open_end(t);
	post_recvs(t);
	if (t->o.multicast && t->o.recvs)
		join_group(t);
	publish(t, "info");
	wait_for(t, "info");
	read_peer(t);
	connect_end(t);
	publish(t, "ready");
	wait_for(t, "ready");
	for (unsigned int i = 0; i < t->o.n_ops; i++)
		run_op(t, &t->o.ops[i]);
	publish(t, "done");
	while (!published(t, "done") || reap(t)) {
		reap(t);
		obey(t);
	}
	print_qps(t);
	print_counts("sent", t->sent);
	print_counts("received", t->received);
	/* A response to a late packet needs the QP of the other end, too. */
	publish(t, "counted");
	wait_for(t, "counted");
	close_end(t);
	return as_expected(t) ? 0 : 1;
}

int main(int argc, char **argv)
{
	static struct traffic t;

	read_options(&t.o, argc, argv);
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	srandom((unsigned int)getpid() + (unsigned int)t.o.side[0] * 65536u);
	return run(&t);
}
