/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Polling completions and posting receives through libibverbs, with an extended CQ or without. */
#include "verbs_port.h"
#include <errno.h>
#include <rdmadump/verbs.h>

/* Frames polled so far are delivered; then the CQ is replaced. */
static void fail_polling(struct verbs_queue *q)
{
	q->fault = (struct queue_fault){.text = "the completion queue cannot be polled",
		.cq_failed = true,
		.unpollable = true};
}

/* Buffer `id` holds a frame; it is posted again with the batch. */
static inline void take_frame(
	struct verbs_queue *q, struct rd_frame *f, uint64_t id, uint32_t len, uint64_t stamp)
{
	verbs_ring_take(&q->ring, id);
	verbs_frame_set(f, verbs_ring_buffer(&q->ring, id), len, stamp);
}

/* A device reports this error itself; a length beyond the buffer is never read. */
static inline enum ibv_wc_status status_of(
	const struct verbs_queue *q, enum ibv_wc_status status, uint32_t len)
{
	return status == IBV_WC_SUCCESS && len > q->ring.buffer_size ? IBV_WC_LOC_LEN_ERR : status;
}

/* How many completions may be polled, up to max; sets the queue's fault if they are compressed. */
static unsigned int readable(struct verbs_queue *q, unsigned int max)
{
	bool compressed = false;
	unsigned int n = q->fault.unpollable ? 0 : rd_verbs_readable(q->cq, max, &compressed);

	if (compressed && !n)
		verbs_fail_compressed(q);
	return n;
}

/* Polls up to n completions, and returns how many are frames; *rc: 0 if all n were there. */
static unsigned int poll_some(
	struct verbs_queue *q, struct rd_frame *frames, unsigned int n, int *rc)
{
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_cq_ex *cq = q->cq_ex;
	unsigned int got = 0;
	uint64_t (*read)(struct ibv_cq_ex *) = q->port->clock.kind->read;

	*rc = ibv_start_poll(cq, &attr);
	if (*rc)
		return 0;
	do {
		uint32_t len = ibv_wc_read_byte_len(cq);
		enum ibv_wc_status status = status_of(q, cq->status, len);

		if (__builtin_expect(status == IBV_WC_SUCCESS, 1))
			take_frame(q, &frames[got++], cq->wr_id, len, read ? read(cq) : 0);
		else if (verbs_completion_error(q, status, ibv_wc_read_vendor_err(cq), len))
			verbs_ring_take(&q->ring, cq->wr_id);
	} while (--n && (*rc = ibv_next_poll(cq)) == 0);
	ibv_end_poll(cq);
	return got;
}

/* After completions that were all errors, more may follow. */
static unsigned int poll_extended(struct verbs_queue *q, struct rd_frame *frames, unsigned int max)
{
	unsigned int n, got = 0;
	int rc = 0;

	while (!got && !rc && (n = readable(q, max)))
		got = poll_some(q, frames, n, &rc);
	if (rc && rc != ENOENT)
		fail_polling(q);
	return got;
}

/* A call that fails does not return how many completions it had read: their wr_id shows it. */
static int poll_wcs(struct verbs_queue *q, struct ibv_wc *wc, int most)
{
	const uint64_t untouched = UINT64_MAX;
	int n;

	for (int i = 0; i < most; i++)
		wc[i].wr_id = untouched;
	n = ibv_poll_cq(q->cq, most, wc);
	if (n >= 0)
		return n;
	fail_polling(q);
	for (n = 0; n < most && wc[n].wr_id < q->ring.n; n++)
		;
	return n;
}

static unsigned int poll_plain(struct verbs_queue *q, struct rd_frame *frames, unsigned int max)
{
	struct ibv_wc wc[RD_BATCH];
	unsigned int got = 0;
	int n;

	do {
		n = poll_wcs(q, wc, (int)readable(q, max < RD_BATCH ? max : RD_BATCH));
		for (int i = 0; i < n; i++) {
			bool frame = wc[i].status == IBV_WC_SUCCESS;
			uint32_t len = frame ? wc[i].byte_len : 0;
			enum ibv_wc_status status = status_of(q, wc[i].status, len);

			if (__builtin_expect(status == IBV_WC_SUCCESS, 1))
				take_frame(q, &frames[got++], wc[i].wr_id, len, 0);
			else if (verbs_completion_error(q, status, wc[i].vendor_err, len))
				verbs_ring_take(&q->ring, wc[i].wr_id);
		}
	} while (n > 0 && !got && !q->fault.unpollable);
	return got;
}

static int post_taken(struct verbs_queue *q)
{
	/* The QP of several queues may be replaced meanwhile by another queue's thread. */
	return verbs_ring_post(&q->ring, q->wq ? NULL : q->port->qp, q->wq);
}

static int arm_cq(struct verbs_queue *q)
{
	return ibv_req_notify_cq(q->cq, 0);
}

void rd_verbs_discard(struct ibv_cq *cq, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	struct ibv_wc wc[RD_BATCH];
	bool any = false, compressed = false;

	while (ibv_poll_cq(cq, (int)rd_verbs_readable(cq, RD_BATCH, &compressed), wc) > 0)
		any = true;
	if (any && qp)
		ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static void discard(struct verbs_queue *q)
{
	rd_verbs_discard(q->cq, q->wq ? NULL : q->port->qp);
}

static const struct verbs_path plain_path = {
	.name = "libibverbs",
	.poll = poll_plain,
	.post = post_taken,
	.arm = arm_cq,
	.cleared = discard,
};

static const struct verbs_path extended_path = {
	.name = "libibverbs, extended CQ",
	.poll = poll_extended,
	.post = post_taken,
	.arm = arm_cq,
	.cleared = discard,
};

const struct verbs_path *verbs_path_libibverbs(const struct verbs_queue *q)
{
	return q->cq_ex ? &extended_path : &plain_path;
}
