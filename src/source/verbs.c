/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The device's own sniffer: a RAW_PACKET QP (UD on InfiniBand) with an IBV_FLOW_ATTR_SNIFFER flow,
 * which copies what crosses the port in both directions (ibv_create_flow(3); mlx5_ib, mlx4_ib).
 */
#include "verbs_queue.h"
#include <errno.h>
#include <rdmadump/bytes.h>
#include <rdmadump/log.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define EVENTS_PER_ACK 64 /* acknowledging takes a lock: not for every event */
#define REPAIRS_MAX    64 /* repairs in a row without one frame between them */

/*
 * A frame that did not fit shows that the port's MTU does not bound what it carries. Where the
 * memory for larger buffers is refused, the old ones go on.
 */
static void ring_grow(struct verbs *v)
{
	uint32_t size = v->ring.buffer_size * 2 < FRAME_MAX ? v->ring.buffer_size * 2 : FRAME_MAX;
	struct verbs_ring larger;
	struct rd_error why;

	if (size == v->ring.buffer_size)
		return;
	if (verbs_ring_init(&larger, v->pd, v->ring.n, size, &why) < 0) {
		rd_log(RD_LOG_WARNING, "%s", why.text);
		return;
	}
	/* Nothing is posted any more: the queue is in error, and about to be reset. */
	verbs_ring_fini(&v->ring);
	v->ring = larger;
}

/* The advice to become root does not help somebody who was. */
static int fail_dropped(const struct queue_fault *was, struct rd_error *err)
{
	char first[256];

	snprintf(first, sizeof(first), "%.*s", (int)strcspn(err->text, ";"), err->text);
	return rd_fail(err, err->class, 0,
		"a new queue needs CAP_NET_RAW, which was given up at the start: as root, -Z root "
		"keeps it",
		"the receive queue failed (%s) and could not be replaced: %s", was->text, first);
}

/* A reset needs no privilege, which we may have given up; a new queue needs CAP_NET_RAW. */
static int queue_renew(struct verbs *v, const struct queue_fault *was, struct rd_error *err)
{
	/* A striding queue's buffers hold the longest frame there is. */
	if (was->too_long && !v->striding)
		ring_grow(v);
	if (!was->cq_failed && verbs_queue_reset(v, err) == 0)
		return 0;
	if (verbs_queue_replace(v, err) == 0)
		return 0;
	return err->errnum == EPERM ? fail_dropped(was, err) : -1;
}

static int fail_removed(const struct verbs *v, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_PARTIAL, 0, "see the kernel's log (dmesg)",
		"%s failed fatally or was removed", v->name);
}

static void take_completion_events(struct verbs *v);

/* Brings the queue back after it fell into error. Frames in between are lost: that is noted. */
static int repair(struct verbs *v, struct rd_error *err)
{
	struct queue_fault was;
	char size[RD_UNITS_LEN];

	/* A device that goes away fails its queues first and says so next. */
	take_completion_events(v);
	verbs_events_take(v);
	verbs_events_apply(v);
	was = v->fault;
	if (v->lead->removed)
		return fail_removed(v, err);
	v->gaps++;
	if (++v->repairs > REPAIRS_MAX)
		return rd_fail(err, RD_CLASS_PARTIAL, 0, "see the kernel's log (dmesg)",
			"the receive queue of %s fails again and again: %s", v->name, was.text);
	if (queue_renew(v, &was, err) < 0)
		return -1;
	v->fault = (struct queue_fault){0};
	rd_source_note(&v->src,
		"the receive queue failed (%s) and was brought back: frames are "
		"missing before this one",
		was.text);
	if (was.too_long && !v->striding)
		rd_source_note(
			&v->src, "buffers are now %s", rd_fmt_kib(size, v->ring.buffer_size));
	return 0;
}

/* --- frames ----------------------------------------------------------------------------- */

/* Readers take the last two bytes of an InfiniBand packet for the VCRC, delivered or not. */
static void complete_vcrc(const struct verbs *v, struct rd_frame *f)
{
	uint8_t *data = verbs_ring_buffer(
		&v->ring, (uint64_t)(f->data - v->ring.memory) / v->ring.buffer_size);
	uint32_t to_icrc = f->len >= 8 ? (rd_be16(data + 4) & 0x7ffU) * 4 : 0;

	if (f->len != to_icrc || f->len + 2 > v->ring.buffer_size)
		return;
	memset(data + f->len, 0, 2);
	f->len += 2;
	f->caplen += 2;
}

void verbs_completion_error(struct verbs *v, enum ibv_wc_status status, uint32_t syndrome)
{
	if (v->lead->stopped || v->fault.text)
		return;
	v->fault.text = ibv_wc_status_str(status);
	v->fault.too_long = status == IBV_WC_LOC_LEN_ERR;
	rd_log(RD_LOG_DEBUG, "%s: completion with status %d, vendor syndrome 0x%x", v->name, status,
		syndrome);
}

/* What was polled so far is delivered; then the CQ is made anew. */
static void fail_polling(struct verbs *v)
{
	v->fault = (struct queue_fault){.text = "the completion queue cannot be polled",
		.cq_failed = true,
		.unpollable = true};
}

/* Buffer `id` holds a frame; it goes back to the device with the batch. */
static inline void take_frame(
	struct verbs *v, struct rd_frame *f, uint64_t id, uint32_t len, uint64_t stamp)
{
	verbs_ring_take(&v->ring, id);
	verbs_frame_set(f, verbs_ring_buffer(&v->ring, id), len, stamp);
}

static unsigned int poll_extended(struct verbs *v, struct rd_frame *frames, unsigned int max)
{
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_cq_ex *cq = v->cq_ex;
	unsigned int got = 0;
	uint64_t (*read)(struct ibv_cq_ex *) = v->clock->kind->read;
	int rc = ibv_start_poll(cq, &attr);

	if (rc) {
		if (rc != ENOENT)
			fail_polling(v);
		return 0;
	}
	do {
		if (__builtin_expect(cq->status == IBV_WC_SUCCESS, 1))
			take_frame(v, &frames[got++], cq->wr_id, ibv_wc_read_byte_len(cq),
				read ? read(cq) : 0);
		else
			verbs_completion_error(v, cq->status, ibv_wc_read_vendor_err(cq));
	} while (got < max && (rc = ibv_next_poll(cq)) == 0);
	ibv_end_poll(cq);
	if (rc && rc != ENOENT)
		fail_polling(v);
	return got;
}

static unsigned int poll_plain(struct verbs *v, struct rd_frame *frames, unsigned int max)
{
	struct ibv_wc wc[RD_BATCH];
	unsigned int got = 0;
	int n = ibv_poll_cq(v->cq, (int)(max < RD_BATCH ? max : RD_BATCH), wc);

	for (int i = 0; i < n; i++) {
		if (__builtin_expect(wc[i].status == IBV_WC_SUCCESS, 1))
			take_frame(v, &frames[got++], wc[i].wr_id, wc[i].byte_len, 0);
		else
			verbs_completion_error(v, wc[i].status, wc[i].vendor_err);
	}
	if (n < 0)
		fail_polling(v);
	return got;
}

static int post_taken(struct verbs *v)
{
	return verbs_ring_post(&v->ring, v->qp, v->wq);
}

static int arm_cq(struct verbs *v)
{
	return ibv_req_notify_cq(v->cq, 0);
}

const struct verbs_path verbs_path_plain = {
	.name = "libibverbs",
	.poll = poll_plain,
	.post = post_taken,
	.arm = arm_cq,
};

const struct verbs_path verbs_path_extended = {
	.name = "libibverbs, extended CQ",
	.poll = poll_extended,
	.post = post_taken,
	.arm = arm_cq,
};

static int verbs_receive(
	struct rd_source *src, struct rd_frame *frames, unsigned int max, struct rd_error *err)
{
	struct verbs *v = (struct verbs *)src;
	unsigned int n;

	if (__builtin_expect(
		    atomic_load_explicit(&v->pending_faults, memory_order_relaxed) != 0, 0))
		verbs_events_apply(v);
	n = v->fault.unpollable ? 0 : v->path->poll(v, frames, max);
	if (!n) {
		/* What arrived before the queue failed has been taken; now it is brought back. */
		if (v->fault.text && v->lead->stopped)
			return RD_SOURCE_END;
		if (v->fault.text)
			return repair(v, err);
		/* What completed before the device was gone has been taken by now. */
		return v->lead->removed && !v->lead->stopped ? fail_removed(v, err) : 0;
	}
	if (v->link == RD_LINK_INFINIBAND)
		for (unsigned int i = 0; i < n; i++)
			complete_vcrc(v, &frames[i]);
	verbs_stamp(v->clock, &v->stamps, frames, n);
	v->repairs = 0;
	return (int)n;
}

static void verbs_release(struct rd_source *src)
{
	struct verbs *v = (struct verbs *)src;

	if (v->path->post(v) && !v->fault.text)
		v->fault.text = "receives cannot be posted";
}

static int verbs_arm(struct rd_source *src, struct rd_error *err)
{
	struct verbs *v = (struct verbs *)src;
	int rc;

	if (v->armed && !v->fault.text && !atomic_load(&v->pending_faults))
		return 0;
	if (v->fault.text || atomic_load(&v->pending_faults))
		return 1;
	rc = v->path->arm(v);
	if (rc)
		return verbs_fail(v, err, rc, "see the kernel's log (dmesg)", "req_notify_cq");
	v->armed = true;
	/* What completed before it was armed raises no event: it must be polled for once more. */
	return 1;
}

/* --- service -------------------------------------------------------------------------- */

static void take_completion_events(struct verbs *v)
{
	struct ibv_cq *cq;
	void *context;

	while (ibv_get_cq_event(v->channel, &cq, &context) == 0) {
		v->armed = false;
		v->events++;
		if (++v->unacked == EVENTS_PER_ACK)
			verbs_ack_events(v);
	}
}

static int verbs_service(struct rd_source *src, struct rd_error *err)
{
	struct verbs *v = (struct verbs *)src;
	eventfd_t wakes;

	(void)err;
	take_completion_events(v);
	if (v->wake_fd >= 0)
		eventfd_read(v->wake_fd, &wakes);
	if (v == v->lead)
		verbs_events_take(v);
	return 0;
}

/* --- life ------------------------------------------------------------------------------- */

static int verbs_start(struct rd_source *src, struct rd_error *err)
{
	struct verbs *v = (struct verbs *)src;

	v->loss = (struct rd_loss){0};
	rd_loss_read(v->sysroot, v->device, v->port_num, &v->loss.last);
	verbs_clock_start(v->clock);
	return verbs_flow_create(v, err);
}

static uint64_t verbs_horizon(struct rd_source *src)
{
	struct verbs *v = (struct verbs *)src;

	return v->clock->kind->horizon(v->clock, &v->stamps);
}

static void loss_update(struct verbs *v)
{
	struct rd_loss_counters now;

	rd_loss_read(v->sysroot, v->device, v->port_num, &now);
	rd_loss_update(&v->loss, &now, v->src.iface.speed);
}

static void verbs_stop(struct rd_source *src)
{
	struct verbs *v = (struct verbs *)src;

	pthread_mutex_lock(&v->lock);
	verbs_flow_destroy(v);
	v->stopped = true;
	pthread_mutex_unlock(&v->lock);
	loss_update(v);
}

static void verbs_stats(struct rd_source *src, struct rd_source_stats *stats)
{
	struct verbs *v = (struct verbs *)src;

	*stats = (struct rd_source_stats){.loss_upper_bound = true};
	for (unsigned int i = 0; i < v->n_queues; i++)
		stats->gaps += v->queue[i]->gaps;
	if (!v->stopped)
		loss_update(v);
	stats->n_loss = v->loss.last.n;
	stats->loss_known = stats->n_loss > 0;
	for (unsigned int i = 0; i < stats->n_loss; i++) {
		stats->loss[i].name = v->loss.last.counter[i].name;
		stats->loss[i].frames = v->loss.growth[i];
		stats->lost += v->loss.growth[i].amount;
		stats->loss_known &= v->loss.growth[i].verdict == RD_GROWTH_EXACT;
	}
}

static void verbs_close(struct rd_source *src)
{
	struct verbs *v = (struct verbs *)src;

	verbs_queues_close(v);
	if (v->pd)
		ibv_dealloc_pd(v->pd);
	verbs_clock_close(&v->own_clock);
	if (v->ctx)
		ibv_close_device(v->ctx);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

/* --- the queues beside the first one ------------------------------------------------------ */

static int follower_start(struct rd_source *src, struct rd_error *err)
{
	(void)src;
	(void)err;
	return 0;
}

static void follower_ignore(struct rd_source *src)
{
	(void)src;
}

static void follower_stats(struct rd_source *src, struct rd_source_stats *stats)
{
	const struct verbs *lead = ((struct verbs *)src)->lead;

	*stats = (struct rd_source_stats){
		.loss_known = lead->loss.last.n > 0, .loss_upper_bound = true};
}

const struct rd_source_ops verbs_ops = {
	.name = "verbs",
	.start = verbs_start,
	.receive = verbs_receive,
	.release = verbs_release,
	.arm = verbs_arm,
	.service = verbs_service,
	.stop = verbs_stop,
	.stats = verbs_stats,
	.close = verbs_close,
	.horizon = verbs_horizon,
};

const struct rd_source_ops verbs_follower_ops = {
	.name = "verbs",
	.start = follower_start,
	.receive = verbs_receive,
	.release = verbs_release,
	.arm = verbs_arm,
	.service = verbs_service,
	.stop = follower_ignore,
	.stats = follower_stats,
	.close = follower_ignore,
	.horizon = verbs_horizon,
};
