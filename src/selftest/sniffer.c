/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creates the objects of a sniffer one by one. */
#include "sniffer.h"
#include "queue_pair.h"
#include <rdmadump/clock.h>
#include <rdmadump/verbs.h>
#include <string.h>
#include <sys/mman.h>

#define POLL_BATCH 32
#define QKEY	   0x11111111
#define FLUSH_MS   200 /* wait for flushed receives */

/* --- steps -------------------------------------------------------------------------------- */

/* Functions of verbs that return a pointer set errno, but not all do so in every case. */
static int error_of(const void *object)
{
	return object ? 0 : errno ? errno : EIO;
}

static int make_pd(struct sniffer *s)
{
	s->pd = ibv_alloc_pd(s->ctx);
	return error_of(s->pd);
}

static size_t ring_bytes(const struct sniffer *s)
{
	return (size_t)s->shape.buffers * s->shape.buffer_size;
}

static int make_mr(struct sniffer *s)
{
	s->memory = mmap(
		NULL, ring_bytes(s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->memory == MAP_FAILED) {
		s->memory = NULL;
		return errno;
	}
	s->mr = ibv_reg_mr(s->pd, s->memory, ring_bytes(s), IBV_ACCESS_LOCAL_WRITE);
	return error_of(s->mr);
}

static int make_cq(struct sniffer *s)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = s->shape.buffers, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | s->shape.timestamps};

	if (s->shape.timestamps) {
		s->cq_ex = ibv_create_cq_ex(s->ctx, &attr);
		s->cq = s->cq_ex ? ibv_cq_ex_to_cq(s->cq_ex) : NULL;
		return error_of(s->cq);
	}
	s->cq = ibv_create_cq(s->ctx, (int)s->shape.buffers, NULL, NULL, 0);
	return error_of(s->cq);
}

/* InfiniBand ports have no RAW_PACKET: there the sniffer's flow is on a UD QP. */
static int make_qp(struct sniffer *s)
{
	struct ibv_qp_init_attr attr = {.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = {.max_recv_wr = s->shape.buffers, .max_recv_sge = 1},
		.qp_type = s->ib ? IBV_QPT_UD : IBV_QPT_RAW_PACKET};

	s->qp = ibv_create_qp(s->pd, &attr);
	return error_of(s->qp);
}

static int post(struct sniffer *s, uint64_t buffer)
{
	struct ibv_sge sge = {.addr = (uintptr_t)s->memory + buffer * s->shape.buffer_size,
		.length = s->shape.buffer_size,
		.lkey = s->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = buffer, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(s->qp, &wr, &bad);
}

static int make_init(struct sniffer *s)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = s->port, .qkey = QKEY};
	int mask = IBV_QP_STATE | IBV_QP_PORT | (s->ib ? IBV_QP_PKEY_INDEX | IBV_QP_QKEY : 0);
	int rc = ibv_modify_qp(s->qp, &attr, mask);

	for (uint64_t i = 0; i < s->shape.buffers && !rc; i++)
		rc = post(s, i);
	return rc;
}

static int make_rtr(struct sniffer *s)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};

	return ibv_modify_qp(s->qp, &attr, IBV_QP_STATE);
}

static const struct {
	const char *name;
	int (*make)(struct sniffer *s);
} steps[STEPS] = {[STEP_CONTEXT] = {"context", NULL},
	[STEP_PD] = {"pd", make_pd},
	[STEP_MR] = {"mr", make_mr},
	[STEP_CQ] = {"cq", make_cq},
	[STEP_QP] = {"qp", make_qp},
	[STEP_INIT] = {"qp_init", make_init},
	[STEP_RTR] = {"qp_rtr", make_rtr},
	[STEP_FLOW] = {"flow", NULL}};

const char *sniffer_step_name(enum sniffer_step step)
{
	return steps[step].name;
}

static int make_context(struct sniffer *s, const char *device)
{
	struct rd_error err;

	if (s->borrowed || rd_verbs_device_open(&s->ctx, device, NULL, NULL, &err) == 0)
		return 0;
	return err.errnum ? err.errnum : ENODEV;
}

int sniffer_open(struct sniffer *s, const struct rd_selftest *st, struct ibv_context *ctx,
	const struct sniffer_shape *shape)
{
	*s = (struct sniffer){.ctx = ctx,
		.borrowed = ctx != NULL,
		.port = (uint8_t)st->port->num,
		.ib = st->port->link == RD_LINK_INFINIBAND,
		.forbidden = st->device->old_switchdev};
	if (shape)
		s->shape = *shape;
	if (!s->shape.buffers)
		s->shape.buffers = RING_BUFFERS;
	if (!s->shape.buffer_size)
		s->shape.buffer_size = RING_BUFFER;
	for (int i = STEP_CONTEXT; i < STEP_FLOW; i++) {
		uint64_t start = rd_monotonic_ns();

		s->reached = (enum sniffer_step)i;
		errno = 0;
		s->step[i].errnum =
			steps[i].make ? steps[i].make(s) : make_context(s, st->device->name);
		s->step[i].ns = rd_monotonic_ns() - start;
		if (s->step[i].errnum)
			return s->step[i].errnum;
	}
	s->reached = STEP_FLOW;
	return 0;
}

/* Makes the queue pair receive again; its flow stays. STEP_QP is the reset itself. */
static int sniffer_restart(struct sniffer *s)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int rc;

	rc = ibv_modify_qp(s->qp, &attr, IBV_QP_STATE);
	if (!rc)
		rd_verbs_discard(s->cq, s->qp);
	for (s->reached = STEP_INIT; !rc && s->reached < STEP_FLOW; s->reached++)
		rc = steps[s->reached].make(s);
	s->reached -= rc != 0;
	return rc;
}

/* --- the flow ----------------------------------------------------------------------------- */

int sniffer_flow_create(struct sniffer *s)
{
	struct ibv_flow_attr attr = {
		.type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof(attr), .port = s->port};
	uint64_t start = rd_monotonic_ns();

	errno = s->forbidden ? EOPNOTSUPP : 0;
	s->flow = s->forbidden ? NULL : ibv_create_flow(s->qp, &attr);
	s->step[STEP_FLOW].errnum = error_of(s->flow);
	s->step[STEP_FLOW].ns = rd_monotonic_ns() - start;
	return s->step[STEP_FLOW].errnum;
}

int sniffer_flow_destroy(struct sniffer *s)
{
	uint64_t start = rd_monotonic_ns();
	int rc = s->flow ? ibv_destroy_flow(s->flow) : 0;

	s->flow = NULL;
	s->stuck |= rc != 0;
	s->step[STEP_FLOW].ns = rd_monotonic_ns() - start;
	return rc;
}

int sniffer_start(struct sniffer *s, const struct rd_selftest *st, struct ibv_context *ctx,
	const struct sniffer_shape *shape)
{
	int rc = sniffer_open(s, st, ctx, shape);

	return rc ? rc : sniffer_flow_create(s);
}

int sniffer_begin(struct sniffer *s, const struct rd_selftest *st, struct rd_probe_result *r,
	const struct sniffer_shape *shape)
{
	int rc = sniffer_start(s, st, NULL, shape);

	if (rc)
		result_failed(r, "%s: %s", sniffer_step_name(s->reached), strerror(rc));
	return rc ? -1 : 0;
}

/* --- frames ------------------------------------------------------------------------------- */

static void count_error(struct sniffer *s, const struct ibv_wc *wc)
{
	s->errors++;
	s->last_status = wc->status;
	s->flushed += wc->status == IBV_WC_WR_FLUSH_ERR;
	s->too_long += wc->status == IBV_WC_LOC_LEN_ERR;
	if (s->first_error.status)
		return;
	s->first_error.status = wc->status;
	s->first_error.vendor = wc->vendor_err;
	s->first_error.byte_len = wc->byte_len;
}

/* The next completion: 1, 0 if there is none, -1 if libibverbs rejects it. */
static int next(struct sniffer *s, struct ibv_wc *wc)
{
	struct ibv_poll_cq_attr attr = {0};

	if (!rd_verbs_readable(s->cq, 1, &s->compressed))
		return 0;
	if (!s->cq_ex)
		return ibv_poll_cq(s->cq, 1, wc);
	if (ibv_start_poll(s->cq_ex, &attr))
		return 0;
	*wc = (struct ibv_wc){.wr_id = s->cq_ex->wr_id, .status = s->cq_ex->status};
	if (wc->status == IBV_WC_SUCCESS) {
		wc->byte_len = ibv_wc_read_byte_len(s->cq_ex);
		s->timestamp = s->shape.timestamps & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK
				       ? ibv_wc_read_completion_wallclock_ns(s->cq_ex)
				       : ibv_wc_read_completion_ts(s->cq_ex);
	}
	ibv_end_poll(s->cq_ex);
	return 1;
}

unsigned int sniffer_poll(struct sniffer *s, sniffer_frame_fn *frame, void *ctx)
{
	unsigned int n = 0;
	struct ibv_wc wc;
	int rc = 0;

	for (; n < POLL_BATCH && (rc = next(s, &wc)) > 0; n++) {
		if (wc.status != IBV_WC_SUCCESS) {
			count_error(s, &wc);
		} else {
			s->frames++;
			if (frame && wc.byte_len <= s->shape.buffer_size)
				frame(ctx, s->memory + wc.wr_id * s->shape.buffer_size,
					wc.byte_len);
		}
		/* A queue in the error state flushes receives at once. */
		if (wc.wr_id < s->shape.buffers && wc.status != IBV_WC_WR_FLUSH_ERR)
			post(s, wc.wr_id);
	}
	s->errors += rc < 0;
	return n;
}

unsigned int sniffer_drain(struct sniffer *s, sniffer_frame_fn *frame, void *ctx)
{
	unsigned int all = 0, n;

	while (all < s->shape.buffers && (n = sniffer_poll(s, frame, ctx)) > 0)
		all += n;
	return all;
}

void sniffer_close(struct sniffer *s)
{
	sniffer_flow_destroy(s);
	if (!s->stuck)
		objects_destroy(s->qp, s->cq, s->mr, s->pd);
	if (s->ctx && !s->borrowed)
		ibv_close_device(s->ctx);
	/* With a borrowed context, an object that cannot be destroyed stays, and the device may
	 * still write to this memory. */
	if (s->memory && !(s->stuck && s->borrowed))
		munmap(s->memory, ring_bytes(s));
	*s = (struct sniffer){0};
}

/* --- recovery ----------------------------------------------------------------------------- */

static void drain_flushed(struct sniffer *s)
{
	const struct timespec step = {.tv_nsec = 1000000};
	uint64_t end = rd_monotonic_ns() + FLUSH_MS * 1000000ULL, flushed = s->flushed;

	while (s->flushed - flushed < s->shape.buffers && rd_monotonic_ns() < end)
		if (!sniffer_poll(s, NULL, NULL))
			nanosleep(&step, NULL);
}

void recover(struct sniffer *s, struct recovery *done)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	uint64_t start, flushed = s->flushed;

	*done = (struct recovery){.step = "qp_err"};
	done->errnum = ibv_modify_qp(s->qp, &attr, IBV_QP_STATE);
	if (done->errnum)
		return;
	drain_flushed(s);
	done->flushed = s->flushed - flushed;
	start = rd_monotonic_ns();
	done->errnum = sniffer_restart(s);
	done->us = (rd_monotonic_ns() - start) / 1000;
	snprintf(done->step, sizeof(done->step), "%s",
		s->reached == STEP_QP ? "qp_reset" : sniffer_step_name(s->reached));
}
