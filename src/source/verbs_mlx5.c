/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Receives on mlx5 without libmlx5: reads completions and posts receives in the memory shared with
 * the device (struct mlx5_cqe64 and doorbell records of mlx5dv.h).
 *
 * Entries of the work queue are used in order, so no search is needed for a completion, and posting
 * again costs an address per frame and a doorbell per batch.
 */
#include "verbs_mlx5.h"
#include <errno.h>
#include <rdmadump/verbs.h>
#include <stdlib.h>

/* Fits a second-level cache with frames of 1 KiB. */
#define BUSY_BUFFERS 1024U

static enum ibv_wc_status status_of(uint8_t syndrome)
{
	switch (syndrome) {
	case MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR:
		return IBV_WC_LOC_LEN_ERR;
	case MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR:
		return IBV_WC_LOC_QP_OP_ERR;
	case MLX5_CQE_SYNDROME_LOCAL_PROT_ERR:
		return IBV_WC_LOC_PROT_ERR;
	case MLX5_CQE_SYNDROME_WR_FLUSH_ERR:
		return IBV_WC_WR_FLUSH_ERR;
	case MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR:
		return IBV_WC_LOC_ACCESS_ERR;
	default:
		return IBV_WC_GENERAL_ERR;
	}
}

void verbs_fail_compressed(struct verbs_queue *q)
{
	q->fault = (struct queue_fault){.text = "the device compresses completions, which "
						"rdmadump did not request",
		.todo = "please report it; look whether mlxconfig query shows "
			"CQE_COMPRESSION as AGGRESSIVE(1), and set the default, BALANCED(0)",
		.unpollable = true};
}

/* Processes a completion without a frame; true: a frame was too long, its entry is posted again. */
static bool take_error(struct verbs_queue *q, const struct mlx5_cqe64 *cqe, uint32_t len)
{
	const struct mlx5_err_cqe *error = (const void *)cqe;
	uint8_t opcode = cqe->op_own >> 4;

	if (opcode == MLX5_CQE_RESP_ERR || opcode == MLX5_CQE_REQ_ERR)
		return verbs_completion_error(
			q, status_of(error->syndrome), error->vendor_err_synd, len);
	/* What follows is an array of compressed completions: the CQ cannot be read further. */
	if (opcode == MLX5_CQE_RESP_SEND)
		verbs_fail_compressed(q);
	else
		verbs_completion_error(q, IBV_WC_GENERAL_ERR, cqe->op_own, 0);
	return false;
}

/* Small frames may be stored in the CQE instead of the buffer (IBV "scatter to CQE"). */
static void copy_inline(uint8_t *to, const struct mlx5_cqe64 *cqe, uint32_t len)
{
	bool precedes = cqe->op_own & MLX5_INLINE_SCATTER_64;
	const uint8_t *from = (const uint8_t *)cqe - (precedes ? CQE_BYTES : 0);
	uint32_t most = precedes ? 64 : 32;

	memcpy(to, from, len < most ? len : most);
}

/*
 * Removes frames that are longer than their buffer from the batch, and counts them as too long. A
 * device should report an error instead, but the kernel's driver also checks (en_rx.c,
 * oversize_pkts_sw_drop). Called where the lengths of a batch, ORed, exceed the size of a buffer.
 * Returns the number of frames left.
 */
static unsigned int drop_long(struct verbs_queue *q, struct rd_frame *frames, unsigned int n)
{
	const uint32_t size = q->ring.buffer_size;
	unsigned int kept = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (frames[i].len <= size)
			frames[kept++] = frames[i];
		else
			verbs_completion_error(q, IBV_WC_LOC_LEN_ERR, 0, frames[i].len);
	}
	return kept;
}

static inline unsigned int poll_run(
	struct verbs_queue *q, struct rd_frame *frames, unsigned int max)
{
	struct verbs_mlx5 *m = q->mlx5;
	const struct verbs_mlx5_run run = verbs_mlx5_run(m, max);
	const uint32_t mask = m->window.n_slots - 1;
	uint8_t *const *slot = m->window.slot;
	struct rd_frame *f = frames;
	uint32_t tail = m->tail, lengths = 0;
	unsigned int n;
	const uint8_t *at;

	for (at = run.first; at != run.end; at += run.size) {
		const struct mlx5_cqe64 *cqe = (const void *)at;
		enum verbs_mlx5_cqe what = verbs_mlx5_look(verbs_mlx5_last_word(at), run.plain);
		uint32_t len;
		uint8_t *data;

		if (what == CQE_NONE)
			break;
		data = slot[tail++ & mask];
		if (__builtin_expect(what == CQE_OTHER, 0)) {
			q->taken += take_error(q, cqe, be32toh(cqe->byte_cnt));
			if (q->fault.unpollable)
				break;
			continue;
		}
		len = be32toh(cqe->byte_cnt);
		lengths |= len;
		if (__builtin_expect(what == CQE_FRAME_INLINE, 0))
			copy_inline(data, cqe, len);
		verbs_frame_set(f++, data, len, be64toh(cqe->timestamp));
	}
	if (!verbs_mlx5_consumed(m, &run, at)) {
		verbs_window_polled(&m->window, 0, false);
		return 0;
	}
	verbs_window_polled(&m->window, tail - m->tail, at == run.end);
	m->tail = tail;
	n = (unsigned int)(f - frames);
	q->taken += n;
	return __builtin_expect(lengths > q->ring.buffer_size, 0) ? drop_long(q, frames, n) : n;
}

static unsigned int mlx5_poll(struct verbs_queue *q, struct rd_frame *frames, unsigned int max)
{
	const struct verbs_mlx5 *m = q->mlx5;
	unsigned int n;
	uint32_t ci;

	/* After completions that were all errors, more may follow. */
	do {
		ci = m->ci;
		n = poll_run(q, frames, max);
	} while (__builtin_expect(!n, 0) && m->ci != ci && !q->fault.unpollable);
	return n;
}

static int mlx5_post(struct verbs_queue *q)
{
	struct verbs_mlx5 *m = q->mlx5;

	/* If all buffers are posted, each entry keeps its buffer. */
	if (!m->window.n_spare && verbs_window_limit(&m->window) == q->ring.n) {
		m->head += q->taken;
	} else {
		verbs_window_take(&m->window, m->tail, q->taken);
		verbs_mlx5_post_spare(m);
	}
	q->taken = 0;
	udma_to_device_barrier();
	m->rq_record[MLX5_RCV_DBR] = htobe32(m->head & RQ_INDEX_MASK);
	return 0;
}

static int mlx5_arm(struct verbs_queue *q)
{
	struct verbs_mlx5 *m = q->mlx5;
	uint32_t word =
		(q->events & ARM_SN_MASK) << 28 | MLX5_CQ_DB_REQ_NOT | (m->ci & CQ_INDEX_MASK);

	m->cq_record[ARM] = htobe32(word);
	/* The device reads the record after the doorbell. */
	mmio_wc_start();
	mmio_write64_be(m->cq_doorbell, htobe64((uint64_t)word << 32 | m->cqn));
	mmio_flush_writes();
	return 0;
}

/* The QP was reset: completions left in the CQ are stale; it restarts with all buffers posted. */
static void mlx5_cleared(struct verbs_queue *q)
{
	struct verbs_mlx5 *m = q->mlx5;

	verbs_mlx5_skip(m);
	m->tail = 0;
	m->head = q->ring.n;
	verbs_window_fill(&m->window, &q->ring);
	q->taken = 0;
}

static const struct verbs_path mlx5_path = {
	.name = "mlx5",
	.poll = mlx5_poll,
	.post = mlx5_post,
	.arm = mlx5_arm,
	.cleared = mlx5_cleared,
};

static void set_cq(struct verbs_mlx5 *m, const struct mlx5dv_cq *cq)
{
	*m = (struct verbs_mlx5){
		.window = m->window,
		.cqes = (const uint8_t *)cq->buf + (cq->cqe_size - CQE_BYTES),
		.cqe_size = cq->cqe_size,
		.n_cqes = cq->cqe_cnt,
		.cq_record = cq->dbrec,
		.cq_doorbell =
			(volatile __be64 *)(void *)((uint8_t *)cq->cq_uar + MLX5_CQ_DOORBELL),
		.cqn = cq->cqn,
	};
}

unsigned int rd_verbs_readable(struct ibv_cq *cq, unsigned int most, bool *compressed)
{
	struct mlx5dv_cq shared = {0};
	struct mlx5dv_obj obj = {.cq = {.in = cq, .out = &shared}};
	struct verbs_mlx5 m = {0};
	struct verbs_mlx5_run run;
	enum verbs_mlx5_cqe what;
	unsigned int n = 0;

	if (!mlx5dv_is_supported(cq->context->device) || mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ))
		return most;
	set_cq(&m, &shared);
	m.ci = be32toh(m.cq_record[SET_CI]);
	run = verbs_mlx5_run(&m, most);
	for (const uint8_t *at = run.first; at != run.end; at += run.size, n++) {
		what = verbs_mlx5_look(verbs_mlx5_last_word(at), run.plain);
		if (what == CQE_NONE)
			break;
		if (what == CQE_OTHER &&
			((const struct mlx5_cqe64 *)(const void *)at)->op_own >> 4 ==
				MLX5_CQE_RESP_SEND) {
			*compressed = true;
			break;
		}
	}
	return n;
}

bool verbs_mlx5_adopt(struct verbs_queue *q)
{
	struct mlx5dv_cq cq = {0};
	struct mlx5dv_qp qp = {0};
	struct mlx5dv_rwq rwq = {0};
	struct mlx5dv_obj obj = {.cq = {.in = q->cq, .out = &cq},
		.qp = {.in = q->port->qp, .out = &qp},
		.rwq = {.in = q->wq, .out = &rwq}};
	uint64_t queue = q->wq ? MLX5DV_OBJ_RWQ : MLX5DV_OBJ_QP;

	if (!MMIO_DIRECT || q->port->link != RD_LINK_ETHERNET ||
		!mlx5dv_is_supported(q->port->ctx->device) || mlx5dv_init_obj(&obj, queue) ||
		(q->wq ? rwq.wqe_cnt : qp.rq.wqe_cnt) != q->ring.n ||
		mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ))
		return false;
	if (!q->mlx5)
		q->mlx5 = calloc(1, sizeof(*q->mlx5));
	if (!q->mlx5 || verbs_window_init(&q->mlx5->window, &q->ring, q->ring.n, BUSY_BUFFERS) != 0)
		return false;
	set_cq(q->mlx5, &cq);
	q->mlx5->rq_record = q->wq ? rwq.dbrec : qp.dbrec;
	q->mlx5->wqes = q->wq ? rwq.buf : qp.rq.buf;
	q->mlx5->wqe_bytes = q->wq ? rwq.stride : qp.rq.stride;
	q->mlx5->n_wqes = q->ring.n;
	q->mlx5->head = q->ring.n;
	q->path = &mlx5_path;
	return true;
}

void verbs_mlx5_free(struct verbs_queue *q)
{
	if (q->mlx5)
		verbs_window_free(&q->mlx5->window);
	free(q->mlx5);
	q->mlx5 = NULL;
}

/* --- which receive buffers of a ring are posted ------------------------------------------- */

int verbs_window_init(
	struct verbs_window *w, const struct verbs_ring *ring, uint32_t n_slots, uint32_t busy)
{
	verbs_window_free(w);
	*w = (struct verbs_window){
		.slot = calloc(n_slots, sizeof(*w->slot)),
		.spare = calloc(ring->n, sizeof(*w->spare)),
		.n_slots = n_slots,
		.n = ring->n,
		.busy = busy < ring->n ? busy : ring->n,
	};
	if (!w->slot || !w->spare)
		return ENOMEM;
	verbs_window_fill(w, ring);
	return 0;
}

void verbs_window_free(struct verbs_window *w)
{
	free(w->slot);
	free(w->spare);
	*w = (struct verbs_window){0};
}

void verbs_window_fill(struct verbs_window *w, const struct verbs_ring *ring)
{
	for (uint32_t i = 0; i < w->n; i++)
		w->slot[i] = verbs_ring_buffer(ring, i);
	w->n_spare = 0;
	w->pile = 0;
}

/* --- the state of a work queue ------------------------------------------------------------ */

/*
 * No verb reads it; the firmware command QUERY_RQ does, over DEVX (layouts: include/linux/mlx5/
 * mlx5_ifc.h of Linux; checks: devx_is_valid_obj_id() of mlx5_ib).
 */
#define CMD_QUERY_RQ   0x90b
#define IN_BYTES       16
#define OUT_BYTES      272 /* header, 24 bytes reserved, 240 of struct mlx5_ifc_rqc_bits */
#define STATE_AT       33  /* the upper four bits */
#define STATE_READY    1
#define STATE_IN_ERROR 3

enum verbs_state verbs_wq_state(const struct verbs_queue *q)
{
	uint32_t rqn = q->wq->wq_num;
	const uint8_t in[IN_BYTES] = {CMD_QUERY_RQ >> 8, CMD_QUERY_RQ & 0xff,
		[9] = rqn >> 16 & 0xff, [10] = rqn >> 8 & 0xff, [11] = rqn & 0xff};
	uint8_t out[OUT_BYTES] = {0};

	/* Refused without DEVX: by the kernel with an errno, by the firmware with a status. */
	if (!mlx5dv_is_supported(q->port->ctx->device) ||
		mlx5dv_devx_wq_query(q->wq, in, sizeof(in), out, sizeof(out)) || out[0])
		return VERBS_STATE_UNKNOWN;
	switch (out[STATE_AT] >> 4) {
	case STATE_READY:
		return VERBS_STATE_READY;
	case STATE_IN_ERROR:
		return VERBS_STATE_ERROR;
	default:
		return VERBS_STATE_UNKNOWN;
	}
}
