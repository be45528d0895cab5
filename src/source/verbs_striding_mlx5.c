/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Striding receive queues of mlx5: a work queue entry is a large buffer of equal strides, and the
 * device writes frame after frame into it, each at the beginning of a stride (mlx5dv_create_wq(3);
 * struct mlx5_mprq_wqe and mlx5_cqe64 of mlx5dv.h; the fields of byte_cnt are those that the
 * kernel's mlx5e driver reads). Nothing is posted per frame: a buffer is posted again when all its
 * strides are consumed and its frames released. If a frame does not fit into the rest of a buffer,
 * the next buffer is used, and a completion without a frame (filler) accounts for the rest.
 *
 * libmlx5 creates, resets and destroys these queues, but cannot post to them or poll them.
 */
#include "verbs_mlx5.h"
#include <errno.h>
#include <stdlib.h>

#define FILLER	       (1U << 31) /* bit of byte_cnt */
#define CONSUMED_SHIFT 16
#define LENGTH_MASK    0xffffU

/* 256 bytes: little space is lost for small frames, and the CQ needs a quarter more memory. */
#define LOG_STRIDE 8
/* Buffers of 128 KiB: the rest that a frame does not fit into is a few per cent of it. */
#define LOG_STRIDES 9
#define BUFFERS_MAX 32768U
/* With fewer, the partly used buffer is too large a part of the ring. */
#define BUFFERS_MIN 8U
/* Posted under overload; it fits into the cache. */
#define BUSY_BYTES (4U << 20)

bool verbs_striding_offered(const struct verbs_port *port, const char **why)
{
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_STRIDING_RQ};

	*why = "on this machine only libmlx5 can ring a doorbell of the device";
	if (!MMIO_DIRECT)
		return false;
	*why = "only Ethernet ports of mlx5 have striding receive queues";
	if (port->link != RD_LINK_ETHERNET || !mlx5dv_is_supported(port->ctx->device))
		return false;
	*why = "the device has no striding receive queues for packets";
	return mlx5dv_query_device(port->ctx, &dv) == 0 &&
	       dv.comp_mask & MLX5DV_CONTEXT_MASK_STRIDING_RQ &&
	       dv.striding_rq_caps.supported_qpts & 1U << IBV_QPT_RAW_PACKET;
}

static uint32_t within(uint32_t q, uint32_t least, uint32_t most)
{
	return q < least ? least : q > most ? most : q;
}

/* The number of buffers for `frames` frames of maximum length, while one buffer is partly used. */
static unsigned int buffers_for(
	const struct verbs_strides *s, unsigned int frames, uint32_t capacity)
{
	uint32_t strides = (capacity + (1U << s->log_bytes) - 1) >> s->log_bytes;
	uint32_t fit = (1U << s->log_count) / strides;

	return fit ? (frames + fit - 1) / fit + 1 : BUFFERS_MAX + 1;
}

bool verbs_striding_layout(struct verbs_port *port)
{
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_STRIDING_RQ};
	const struct mlx5dv_striding_rq_caps *caps = &dv.striding_rq_caps;
	struct verbs_strides *s = &port->strides;

	if (mlx5dv_query_device(port->ctx, &dv))
		return false;
	s->log_count = within(LOG_STRIDES, caps->min_single_wqe_log_num_of_strides,
		caps->max_single_wqe_log_num_of_strides);
	/* Every stride may be a frame, and every frame needs a completion. */
	for (s->log_bytes = within(LOG_STRIDE, caps->min_single_stride_log_num_of_bytes,
		     caps->max_single_stride_log_num_of_bytes);
		s->log_bytes <= caps->max_single_stride_log_num_of_bytes; s->log_bytes++) {
		s->buffers = buffers_for(s, port->n_wanted, port->frame_room);
		if (s->buffers <= BUFFERS_MAX && s->buffers <= port->wqe_most &&
			(uint64_t)s->buffers << s->log_count <= (uint64_t)port->cqe_most)
			break;
	}
	if (s->log_bytes > caps->max_single_stride_log_num_of_bytes)
		return false;
	if (s->buffers < BUFFERS_MIN)
		s->buffers = BUFFERS_MIN;
	return true;
}

int verbs_striding_ring(struct verbs_queue *q, struct rd_error *err)
{
	const struct verbs_strides *s = &q->port->strides;

	if (verbs_ring_init(&q->ring, q->port->pd, s->buffers, 1U << (s->log_bytes + s->log_count),
		    &q->port->memory, err) < 0)
		return -1;
	q->ring.cqes = s->buffers << s->log_count;
	return 0;
}

/* --- posting ------------------------------------------------------------------------------ */

/* The first segment of an entry is all zeros; the data segment follows it. */
static void *first_data_segment(const struct mlx5dv_rwq *rwq)
{
	return (uint8_t *)rwq->buf + offsetof(struct mlx5_mprq_wqe, dseg);
}

static void striding_ring_doorbell(struct verbs_mlx5 *m)
{
	udma_to_device_barrier();
	m->rq_record[MLX5_RCV_DBR] = htobe32(m->head & RQ_INDEX_MASK);
}

static int striding_post(struct verbs_queue *q)
{
	struct verbs_mlx5 *m = q->mlx5;

	if (__builtin_expect(!q->taken, 1))
		return 0;
	verbs_window_take(&m->window, m->tail, q->taken);
	q->taken = 0;
	verbs_mlx5_post_spare(m);
	striding_ring_doorbell(m);
	return 0;
}

static int striding_fill(struct verbs_queue *q)
{
	struct verbs_mlx5 *m = q->mlx5;

	verbs_window_fill(&m->window, &q->ring);
	for (uint32_t i = 0; i < m->n_wqes; i++) {
		struct mlx5_wqe_data_seg *seg = verbs_mlx5_wqe(m, i);

		seg->byte_count = htobe32(q->ring.buffer_size);
		seg->lkey = htobe32(q->ring.mr->lkey);
		if (i < q->ring.n)
			seg->addr = htobe64((uintptr_t)m->window.slot[i]);
	}
	m->tail = 0;
	m->head = q->ring.n;
	m->left = (int32_t)m->n_strides;
	m->buffer = m->window.slot[0];
	q->taken = 0;
	striding_ring_doorbell(m);
	return 0;
}

/* --- polling ------------------------------------------------------------------------------ */

/* All strides of the buffer are consumed: returns the next buffer. */
static __attribute__((noinline)) uint8_t *buffer_next(struct verbs_queue *q)
{
	struct verbs_mlx5 *m = q->mlx5;

	m->tail++;
	m->buffer = m->window.slot[m->tail & (m->window.n_slots - 1)];
	q->taken++;
	return m->buffer;
}

static inline unsigned int poll_run(
	struct verbs_queue *q, struct rd_frame *frames, unsigned int max)
{
	struct verbs_mlx5 *m = q->mlx5;
	const struct verbs_mlx5_run run = verbs_mlx5_run(m, max);
	const uint32_t stride_bytes = m->stride_bytes, last = m->n_strides - 1;
	struct rd_frame *f = frames;
	int32_t left = m->left;
	const uint32_t tail = m->tail;
	uint32_t ends = 0; /* last bytes of the frames in their buffers, ORed */
	unsigned int n;
	uint8_t *buffer = m->buffer;
	const uint8_t *at;

	for (at = run.first; at != run.end; at += run.size) {
		const struct mlx5_cqe64 *cqe = (const void *)at;
		uint32_t last_word = verbs_mlx5_last_word(at), count;
		enum verbs_mlx5_cqe what = verbs_mlx5_look(last_word, run.plain);

		if (what == CQE_NONE)
			break;
		count = be32toh(cqe->byte_cnt);
		if (__builtin_expect(what == CQE_OTHER, 0)) {
			/* The strides of a frame that was too long are also consumed. */
			if (!verbs_mlx5_take_error(q, cqe, count & LENGTH_MASK)) {
				if (q->fault.unpollable)
					break;
				continue;
			}
			count &= ~FILLER;
			if (count >> CONSUMED_SHIFT == 0 && !q->fault.text)
				q->fault.text = "a frame was too long, for unknown strides";
		} else if (__builtin_expect(count & FILLER, 0)) {
			count &= ~FILLER;
		} else {
			uint32_t begin = (be32toh(last_word) >> 16 & last) * stride_bytes;
			uint32_t len = count & LENGTH_MASK;
			uint8_t *data = buffer + begin;

			ends |= begin + len - 1;
			if (__builtin_expect(what == CQE_FRAME_INLINE, 0))
				verbs_mlx5_copy_inline(data, cqe, len);
			verbs_frame_set(f++, data, len, be64toh(cqe->timestamp));
		}
		left -= (int32_t)(count >> CONSUMED_SHIFT);
		if (__builtin_expect(left <= 0, 0)) {
			left = (int32_t)m->n_strides;
			buffer = buffer_next(q);
		}
	}
	if (!verbs_mlx5_consumed(m, &run, at)) {
		verbs_window_polled(&m->window, 0, false);
		return 0;
	}
	verbs_window_polled(&m->window, m->tail - tail, at == run.end);
	m->left = left;
	n = (unsigned int)(f - frames);
	/* The size is a power of two. */
	return __builtin_expect(ends >= q->ring.buffer_size, 0) ? verbs_mlx5_drop_long(q, frames, n)
								: n;
}

static unsigned int striding_poll(struct verbs_queue *q, struct rd_frame *frames, unsigned int max)
{
	const struct verbs_mlx5 *m = q->mlx5;

	for (;;) {
		uint32_t ci = m->ci;
		unsigned int n = poll_run(q, frames, max);

		if (__builtin_expect(n, 1) || m->ci == ci)
			return n;
		/* Only fillers and errors: release() is called only for frames. */
		striding_post(q);
		if (q->fault.unpollable)
			return 0;
	}
}

/* The queue was reset: completions left in the CQ are stale. */
static void striding_cleared(struct verbs_queue *q)
{
	verbs_mlx5_skip(q->mlx5);
	q->taken = 0;
}

static const struct verbs_path striding_path = {
	.name = "mlx5, striding",
	.poll = striding_poll,
	.post = striding_post,
	.arm = verbs_mlx5_arm,
	.fill = striding_fill,
	.cleared = striding_cleared,
};

int verbs_striding_create(struct verbs_queue *q, struct rd_error *err)
{
	struct ibv_wq_init_attr attr = {.wq_type = IBV_WQT_RQ,
		.max_wr = q->ring.n,
		.max_sge = 1,
		.pd = q->port->pd,
		.cq = q->cq};
	struct mlx5dv_wq_init_attr striding = {
		.comp_mask = MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ,
		.striding_rq_attrs = {.single_stride_log_num_of_bytes = q->port->strides.log_bytes,
			.single_wqe_log_num_of_strides = q->port->strides.log_count},
	};
	struct mlx5dv_cq cq = {0};
	struct mlx5dv_rwq rwq = {0};
	struct mlx5dv_obj obj = {.cq = {.in = q->cq, .out = &cq}};

	q->wq = mlx5dv_create_wq(q->port->ctx, &attr, &striding);
	if (!q->wq)
		return verbs_fail_object(q->port, err, errno, VERBS_QUEUE, "create_wq (striding)");
	obj.rwq.in = q->wq;
	obj.rwq.out = &rwq;
	if (!q->mlx5)
		q->mlx5 = calloc(1, sizeof(*q->mlx5));
	if (!q->mlx5)
		return verbs_fail(q->port, err, ENOMEM, NULL, "memory for the queue");
	errno = mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ | MLX5DV_OBJ_RWQ);
	if (errno)
		return verbs_fail(q->port, err, errno, "use --rx-mode wqe", "init_obj (striding)");
	verbs_mlx5_set_cq(q->mlx5, &cq);
	q->mlx5->rq_record = rwq.dbrec;
	q->mlx5->wqes = first_data_segment(&rwq);
	q->mlx5->wqe_bytes = rwq.stride;
	q->mlx5->n_wqes = rwq.wqe_cnt;
	if (verbs_window_init(
		    &q->mlx5->window, &q->ring, q->mlx5->n_wqes, BUSY_BYTES / q->ring.buffer_size))
		return verbs_fail(q->port, err, ENOMEM, NULL, "memory for the queue");
	q->mlx5->n_strides = 1U << q->port->strides.log_count;
	q->mlx5->stride_bytes = 1U << q->port->strides.log_bytes;
	q->path = &striding_path;
	return 0;
}
