/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A minimal verbs sniffer: one completion, one clock call, two writes and one repost at a time. It
 * tests the model, and is the reference in benchmarks.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frames.h"

struct options {
	const char *device, *output;
	unsigned int ring, buffer, children;
	uint64_t count;
	bool quiet, hash, events, leak, disorder;
};

struct probe {
	struct options o;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_flow *flow;
	uint8_t *mem;
	FILE *out;
	struct frame_hash seen;
};

static bool calloc_asks; /* for the time */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_calloc(size_t n, size_t size);

/* The allocator of a sanitizer asks now and then, also if the model called it. */
void *calloc(size_t n, size_t size)
{
	struct timespec t;

	for (int i = 0; calloc_asks && i < 100; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	return __libc_calloc(n, size);
}
#endif

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static int fail(const char *what, int err)
{
	printf("failed %s: %s (%d)\n", what, strerror(err), err);
	return 1;
}

static int post(struct probe *p, uint64_t i)
{
	struct ibv_sge sge = {.addr = (uintptr_t)p->mem + i * p->o.buffer,
		.length = p->o.buffer,
		.lkey = p->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(p->qp, &wr, &bad);
}

static int start(struct probe *p)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	int rc = ibv_modify_qp(p->qp, &attr, IBV_QP_STATE | IBV_QP_PORT);

	if (rc)
		return fail("modify_qp INIT", rc);
	for (uint64_t i = 0; i < p->o.ring; i++) {
		rc = post(p, i);
		if (rc)
			return fail("post_recv", rc);
	}
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR};
	rc = ibv_modify_qp(p->qp, &attr, IBV_QP_STATE);
	return rc ? fail("modify_qp RTR", rc) : 0;
}

static struct ibv_context *open_named(const char *name)
{
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && i < n; i++)
		if (!name || !strcmp(name, ibv_get_device_name(list[i]))) {
			ctx = ibv_open_device(list[i]);
			break;
		}
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

static int setup(struct probe *p)
{
	struct ibv_qp_init_attr qa = {.cap = {.max_recv_wr = p->o.ring, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RAW_PACKET};
	struct ibv_flow_attr fa = {.type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof(fa), .port = 1};
	size_t bytes = (size_t)p->o.ring * p->o.buffer;

	p->ctx = open_named(p->o.device);
	if (!p->ctx)
		return fail("open_device", errno);
	p->pd = ibv_alloc_pd(p->ctx);
	if (!p->pd)
		return fail("alloc_pd", errno);
	if (p->o.events && !(p->channel = ibv_create_comp_channel(p->ctx)))
		return fail("create_comp_channel", errno);
	p->cq = ibv_create_cq(p->ctx, (int)p->o.ring, NULL, p->channel, 0);
	if (!p->cq)
		return fail("create_cq", errno);
	p->mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->mem == MAP_FAILED)
		return fail("mmap", errno);
	p->mr = ibv_reg_mr(p->pd, p->mem, bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!p->mr)
		return fail("reg_mr", errno);
	qa.send_cq = qa.recv_cq = p->cq;
	p->qp = ibv_create_qp(p->pd, &qa);
	if (!p->qp)
		return fail("create_qp", errno);
	if (start(p))
		return 1;
	p->flow = ibv_create_flow(p->qp, &fa);
	return p->flow ? 0 : fail("create_flow", errno);
}

static void take(struct probe *p, const uint8_t *data, uint32_t len)
{
	struct timeval tv;
	uint32_t head[4];

	gettimeofday(&tv, NULL);
	if (p->o.hash) {
		frame_hash_add(&p->seen, data, len);
	} else {
		p->seen.frames++;
		p->seen.bytes += len;
	}
	if (!p->out)
		return;
	head[0] = (uint32_t)tv.tv_sec;
	head[1] = (uint32_t)tv.tv_usec;
	head[2] = head[3] = len;
	fwrite(head, sizeof(head), 1, p->out);
	fwrite(data, len, 1, p->out);
}

/* Returns how many completions there were, or -1 to end. */
static int turn(struct probe *p)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(p->cq, 1, &wc);

	if (n <= 0)
		return n;
	if (wc.status != IBV_WC_SUCCESS)
		return -1;
	take(p, p->mem + wc.wr_id * p->o.buffer, wc.byte_len);
	return post(p, wc.wr_id) ? -1 : 1;
}

static void report_async(struct probe *p)
{
	struct pollfd fd = {.fd = p->ctx->async_fd, .events = POLLIN};
	struct ibv_async_event e;

	while (poll(&fd, 1, 0) == 1 && !ibv_get_async_event(p->ctx, &e)) {
		printf("event %s\n", ibv_event_type_str(e.event_type));
		if (e.event_type == IBV_EVENT_DEVICE_FATAL || e.event_type == IBV_EVENT_CQ_ERR)
			stop = 1;
		ibv_ack_async_event(&e);
	}
}

static void wait_event(struct probe *p)
{
	struct pollfd fd[2] = {{.fd = p->channel->fd, .events = POLLIN},
		{.fd = p->ctx->async_fd, .events = POLLIN}};
	struct ibv_cq *cq;
	void *cookie;

	poll(fd, 2, 1000);
	if (fd[0].revents && !ibv_get_cq_event(p->channel, &cq, &cookie))
		ibv_ack_cq_events(cq, 1);
}

static void loop(struct probe *p)
{
	uint64_t idle = 0;
	bool armed = false;

	while (!stop && (!p->o.count || p->seen.frames < p->o.count)) {
		int n = turn(p);

		if (n < 0)
			break;
		if (n) {
			idle = 0;
			armed = false;
			continue;
		}
		if ((++idle & 0xfff) == 0)
			report_async(p);
		if (!p->o.events)
			continue;
		if (!armed) {
			ibv_req_notify_cq(p->cq, 0);
			armed = true;
			continue;
		}
		wait_event(p);
		report_async(p);
		armed = false;
	}
	/* What was there before the signal belongs to the answer. */
	for (uint32_t i = 0; stop && i < p->o.ring && turn(p) > 0; i++)
		;
	report_async(p);
}

static int teardown(struct probe *p)
{
	int rc = 0;

	if (p->o.disorder) {
		printf("destroy_qp early: %s\n", strerror(ibv_destroy_qp(p->qp)));
		printf("destroy_cq early: %s\n", strerror(ibv_destroy_cq(p->cq)));
		printf("dealloc_pd early: %s\n", strerror(ibv_dealloc_pd(p->pd)));
	}
	if (p->flow && !p->o.leak)
		rc |= ibv_destroy_flow(p->flow);
	if (p->qp && !p->o.leak)
		rc |= ibv_destroy_qp(p->qp);
	if (p->mr && !p->o.leak)
		rc |= ibv_dereg_mr(p->mr);
	if (p->cq && !p->o.leak)
		rc |= ibv_destroy_cq(p->cq);
	if (p->channel && !p->o.leak)
		rc |= ibv_destroy_comp_channel(p->channel);
	if (p->pd && !p->o.leak)
		rc |= ibv_dealloc_pd(p->pd);
	if (p->ctx)
		rc |= ibv_close_device(p->ctx);
	return rc;
}

static void parse(struct options *o, int argc, char **argv)
{
	int c;

	*o = (struct options){.ring = 4096, .buffer = 10240};
	while ((c = getopt(argc, argv, "d:w:r:b:c:f:qHelDt")) != -1) {
		o->device = c == 'd' ? optarg : o->device;
		o->output = c == 'w' ? optarg : o->output;
		o->ring = c == 'r' ? (unsigned int)atoi(optarg) : o->ring;
		o->buffer = c == 'b' ? (unsigned int)atoi(optarg) : o->buffer;
		o->count = c == 'c' ? strtoull(optarg, NULL, 0) : o->count;
		o->children = c == 'f' ? (unsigned int)atoi(optarg) : o->children;
		o->quiet |= c == 'q';
		o->hash |= c == 'H';
		o->events |= c == 'e';
		o->leak |= c == 'l';
		o->disorder |= c == 'D';
		calloc_asks |= c == 't';
		if (c == '?')
			exit(2);
	}
}

static void *closes(void *unused)
{
	while (!stop)
		close(-1);
	return unused;
}

/* Children of a process with threads, as tshark starts them: each first closes descriptors. */
static int fork_children(unsigned int n)
{
	pthread_t thread;
	int status, rc = pthread_create(&thread, NULL, closes, NULL);

	if (rc)
		return fail("pthread_create", rc);
	for (; n && !rc; n--) {
		pid_t child = fork();

		close(-1);
		if (!child)
			_exit(0);
		rc = child < 0 || waitpid(child, &status, 0) != child || status;
	}
	stop = 1;
	pthread_join(thread, NULL);
	return rc;
}

static int open_output(struct probe *p)
{
	uint32_t head[6] = {0xa1b2c3d4, 4u << 16 | 2, 0, 0, 262144, 1};

	if (!p->o.output)
		return 0;
	p->out = fopen(p->o.output, "wb");
	if (!p->out)
		return fail(p->o.output, errno);
	fwrite(head, sizeof(head), 1, p->out);
	return 0;
}

int main(int argc, char **argv)
{
	struct probe p = {.seen = FRAME_HASH_INIT};
	struct sigaction sa = {.sa_handler = on_signal};
	int rc;

	parse(&p.o, argc, argv);
	if (p.o.children)
		return fork_children(p.o.children);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	rc = open_output(&p) || setup(&p);
	if (!rc)
		loop(&p);
	if (p.out && fclose(p.out))
		rc = fail("writing", errno);
	rc |= teardown(&p);
	if (!p.o.quiet)
		printf("%llu %llu %016llx\n", (unsigned long long)p.seen.frames,
			(unsigned long long)p.seen.bytes,
			(unsigned long long)(p.o.hash ? p.seen.h : 0));
	return rc ? 1 : 0;
}
