/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device's own sniffer: a RAW_PACKET QP (UD on InfiniBand) with an IBV_FLOW_ATTR_SNIFFER flow,
 * which copies what crosses the port in both directions (ibv_create_flow(3); mlx5_ib, mlx4_ib).
 */
#include "verbs_port.h"
#include <rdmadump/units.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define LOST_EVENT_NS 1000000000U /* of sleep, after which the queue is polled without an event */
#define ASLEEP_NEVER  UINT64_MAX

static struct verbs_port *port_of(struct rd_source *src)
{
	return ((struct verbs_queue *)src)->port;
}

/* --- frames ----------------------------------------------------------------------------- */

static unsigned int poll(struct verbs_queue *q, struct rd_frame *frames, unsigned int max)
{
	unsigned int n = q->fault.unpollable ? 0 : q->path->poll(q, frames, max);

	if (__builtin_expect(q->oversize.frames != q->oversize.seen, 0)) {
		q->oversize.seen = q->oversize.frames;
		verbs_oversize_report(q);
		/* Without a frame there is no release() that posts the receives. */
		if (!n && q->path->post(q) && !q->fault.text)
			q->fault.text = "receives cannot be posted";
	} else if (__builtin_expect(q->oversize.unsure, 0) && n) {
		verbs_oversize_over(q);
	}
	return n;
}

static int nothing_received(struct verbs_queue *q, bool removed, struct rd_error *err)
{
	if (q->oversize.unsure && !q->fault.text && rd_monotonic_ns() >= q->src.recheck_ns)
		verbs_oversize_overdue(q);
	/* All frames from before the failure have been received: the queue is repaired now. */
	if (q->fault.text)
		return q->port->stopped ? RD_SOURCE_END : verbs_repair(q, err);
	return removed && !q->port->stopped ? verbs_fail_removed(q, err) : 0;
}

static int verbs_receive(
	struct rd_source *src, struct rd_frame *frames, unsigned int max, struct rd_error *err)
{
	struct verbs_queue *q = (struct verbs_queue *)src;
	/* Before the poll: if it finds nothing, nothing from before the removal is left. */
	bool removed = q->port->removed;
	unsigned int n;

	/* If the flow could not be destroyed, frames continue to arrive. */
	if (__builtin_expect(q->port->abandoned, 0) && q->port->stopped && q->rest == 0)
		return RD_SOURCE_END;
	if (__builtin_expect(
		    atomic_load_explicit(&q->pending_faults, memory_order_relaxed) != 0, 0))
		verbs_events_apply(q);
	if (__builtin_expect(atomic_load_explicit(&q->port->addresses.generation,
				     memory_order_relaxed) != q->addresses,
		    0))
		verbs_addresses_take(q);
	n = poll(q, frames, max);
	if (!n)
		return nothing_received(q, removed, err);
	if (q->port->link == RD_LINK_INFINIBAND)
		verbs_trailer_take(q, frames, n);
	verbs_stamp(&q->port->clock, &q->stamps, frames, n);
	src->batch_disordered = q->stamps.disordered;
	q->repairs = 0;
	q->gather.frames += n;
	if (__builtin_expect(q->port->abandoned, 0) && q->port->stopped)
		q->rest -= n < q->rest ? n : q->rest;
	return (int)n;
}

static void verbs_release(struct rd_source *src)
{
	struct verbs_queue *q = (struct verbs_queue *)src;

	if (q->path->post(q) && !q->fault.text)
		q->fault.text = "receives cannot be posted";
}

static int verbs_arm(struct rd_source *src, struct rd_error *err)
{
	struct verbs_queue *q = (struct verbs_queue *)src;
	int rc;

	/* Frames arrived while the thread slept, and no event: the device or the kernel lost it. */
	if (q->armed && q->asleep_frames != ASLEEP_NEVER && q->asleep_frames != q->gather.frames)
		q->armed = false;
	if (q->armed && !q->fault.text && !atomic_load(&q->pending_faults) &&
		!verbs_oversize_pending(q)) {
		q->asleep_frames = q->gather.frames;
		if (!q->oversize.unsure)
			q->src.recheck_ns = rd_monotonic_ns() + LOST_EVENT_NS;
		return 0;
	}
	if (q->fault.text || atomic_load(&q->pending_faults))
		return 1;
	if (verbs_oversize_pending(q)) {
		verbs_oversize_settle(q);
		return 1;
	}
	rc = q->path->arm(q);
	if (rc)
		return verbs_fail(
			q->port, err, rc, "see the kernel's log (dmesg)", "req_notify_cq");
	q->armed = true;
	q->asleep_frames = ASLEEP_NEVER;
	/* What completed before it was armed raises no event: it must be polled for once more. */
	return 1;
}

/* --- service -------------------------------------------------------------------------- */

static int verbs_service(struct rd_source *src, struct rd_error *err)
{
	struct verbs_queue *q = (struct verbs_queue *)src;
	eventfd_t wakes;

	(void)err;
	verbs_completion_events_take(q);
	if (q->wake_fd >= 0)
		eventfd_read(q->wake_fd, &wakes);
	if (q->index == 0) {
		verbs_events_take(q);
		verbs_addresses_service(q->port);
	}
	return 0;
}

/* --- loss --------------------------------------------------------------------------------- */

/*
 * Counters are read by the device's name. If that is another device's now, as after a reload of the
 * driver, they are not this one's: none is returned.
 */
static void read_loss(const struct verbs_port *port, struct rd_loss_counters *now)
{
	rd_loss_read(port->sysroot, port->device, port->num, now);
	if (port->identity &&
		rd_port_identity(port->sysroot, port->device->name, port->num) != port->identity)
		now->n = now->n_witnesses = 0;
}

/* --- start and stop --------------------------------------------------------------------- */

static int verbs_start(struct rd_source *src, struct rd_error *err)
{
	struct verbs_port *port = port_of(src);

	port->loss = (struct rd_loss){0};
	port->identity = rd_port_identity(port->sysroot, port->device->name, port->num);
	read_loss(port, &port->loss.last);
	/* What the flow of the trial delivered to work queues is from before the start. */
	verbs_events_take(port->queue[0]);
	for (unsigned int i = 0; i < port->n_queues; i++)
		if (verbs_queue_empty(port->queue[i], err) < 0)
			return -1;
	verbs_clock_start(&port->clock);
	return verbs_flow_create(port, err);
}

static uint64_t verbs_watermark(struct rd_source *src)
{
	struct verbs_queue *q = (struct verbs_queue *)src;

	return q->port->clock.kind->watermark(&q->port->clock, &q->stamps);
}

static uint64_t verbs_now(const struct rd_source *src)
{
	return rd_clock_now(&((const struct verbs_queue *)src)->port->clock.host);
}

static void verbs_measure(struct rd_source *src)
{
	struct verbs_port *port = port_of(src);
	struct rd_loss_counters now;

	read_loss(port, &now);
	pthread_mutex_lock(&port->loss_lock);
	rd_loss_update(&port->loss, &now, port->speed);
	pthread_mutex_unlock(&port->loss_lock);
}

static void verbs_stop(struct rd_source *src)
{
	struct verbs_port *port = port_of(src);
	struct rd_error why;

	pthread_mutex_lock(&port->lock);
	verbs_flow_destroy(port, &why);
	port->stopped = true;
	pthread_mutex_unlock(&port->lock);
}

static void verbs_stats(struct rd_source *src, struct rd_source_stats *stats)
{
	struct verbs_port *port = port_of(src);
	const struct rd_loss *loss = &port->loss;
	uint64_t oversize = 0;

	*stats = (struct rd_source_stats){.loss_shared = true,
		.stop_error = port->icmd.left.class == RD_CLASS_NONE ? NULL : &port->icmd.left};
	for (unsigned int i = 0; i < port->n_queues; i++) {
		stats->gaps += port->queue[i]->gaps;
		oversize += port->queue[i]->oversize.frames;
	}
	pthread_mutex_lock(&port->loss_lock);
	stats->loss_delay_ms = loss->last.lifespan_ms;
	stats->n_loss = loss->last.n;
	/* No counter has what a queue that failed did not take. */
	stats->missing = stats->gaps ? "the receive queue failed" : NULL;
	stats->loss_known = stats->n_loss > 0 && !stats->gaps;
	for (unsigned int i = 0; i < stats->n_loss; i++) {
		stats->loss[i].name = loss->last.counter[i].name;
		stats->loss[i].frames = loss->growth[i];
		stats->loss[i].least = loss->least[i];
		stats->lost += loss->least[i];
		stats->loss_known &= loss->growth[i].verdict == RD_GROWTH_EXACT;
	}
	pthread_mutex_unlock(&port->loss_lock);
	stats->lost += oversize;
	stats->too_long = oversize;
	if (oversize && stats->n_loss < RD_LOSS_COUNTERS) {
		stats->loss[stats->n_loss].name = RD_TOO_LONG;
		stats->loss[stats->n_loss].least = oversize;
		stats->loss[stats->n_loss++].frames.amount = oversize;
	}
}

static void verbs_close(struct rd_source *src)
{
	verbs_port_close(port_of(src));
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
	.measure = verbs_measure,
	.close = verbs_close,
	.watermark = verbs_watermark,
	.now = verbs_now,
	.trailers = verbs_trailers,
};

/* --- the queues beside the first one ------------------------------------------------------ */

static void follower_stats(struct rd_source *src, struct rd_source_stats *stats)
{
	*stats = (struct rd_source_stats){
		.loss_known = port_of(src)->loss.last.n > 0, .loss_shared = true};
}

static const struct rd_source_ops follower_ops = {
	.name = "verbs",
	.start = rd_source_no_work,
	.receive = verbs_receive,
	.release = verbs_release,
	.arm = verbs_arm,
	.service = verbs_service,
	.stop = rd_source_ignore,
	.stats = follower_stats,
	.close = rd_source_ignore,
	.watermark = verbs_watermark,
	.now = verbs_now,
};

/* --- opening ------------------------------------------------------------------------------ */

static void describe_iface(struct verbs_port *port, struct rd_iface *iface, const struct rd_port *p)
{
	const struct rd_device *d = port->device;

	snprintf(port->hardware, sizeof(port->hardware), "%s %s%s%s, firmware %s, driver %s%s%s",
		d->name, d->hca_type, d->board_id[0] ? " PSID " : "", d->board_id,
		d->fw[0] ? d->fw : "unknown", d->driver[0] ? d->driver : "unknown",
		d->pci[0] ? ", PCI " : "", d->pci);
	iface->link = port->link;
	iface->name = port->name;
	iface->description = port->description;
	iface->hardware = port->hardware;
	iface->speed = port->speed;
	iface->max_frame = FRAME_MAX;
	if (p->n_netdevs) {
		memcpy(iface->mac, p->netdevs[0].mac, 6);
		iface->has_mac = true;
	}
}

static void describe(struct verbs_port *port, const struct rd_port *p)
{
	const char *kind = port->link == RD_LINK_INFINIBAND ? "InfiniBand" : "RoCE";
	const char *netdev = p->n_netdevs ? p->netdevs[0].name : "";
	const char *comma = *netdev ? ", " : "";
	const char *rate = p->rate[0] ? p->rate : "unknown rate";
	const struct verbs_ring *ring = &port->queue[0]->ring;
	struct rd_source *src = &port->queue[0]->src;
	char size[RD_UNITS_LEN];

	snprintf(src->title, sizeof(src->title), "%s port %u (%s%s%s, %s)", port->device->name,
		port->num, netdev, comma, kind, rate);
	src->path = port->queue[0]->path->name;
	snprintf(src->details, sizeof(src->details), "%s%s, %u buffers of %s",
		port->icmd.sniffer ? "port sniffer, " : "", port->clock.kind->title, ring->n,
		rd_fmt_kib(size, ring->buffer_size));
	snprintf(port->description, sizeof(port->description), "%s%s%s, %s; %s", netdev, comma,
		kind, rate, port->clock.kind->description);
	describe_iface(port, &src->iface, p);
}

/* How many queues there are, and why not as many as wanted. */
static void describe_queues(const struct verbs_port *port, unsigned int wanted)
{
	struct rd_source *first = &port->queue[0]->src;
	const char *note = port->spread_note, *plural = port->n_queues > 1 ? "s" : "";
	size_t used = strlen(first->details);

	if (port->n_queues > 1 || wanted > 1)
		snprintf(first->details + used, sizeof(first->details) - used, ", %u queue%s%s%s%s",
			port->n_queues, plural, *note ? " (" : "", note, *note ? ")" : "");
	if (port->n_queues < wanted)
		rd_log(RD_LOG_WARNING, "%s: %u queue%s instead of %u: %s", port->name,
			port->n_queues, plural, wanted, note);
	rd_log(RD_LOG_DEBUG, "%s: receiving by %s", port->name, port->queue[0]->path->name);
	for (unsigned int i = 1; i < port->n_queues; i++) {
		struct rd_source *src = &port->queue[i]->src;

		src->iface = first->iface;
		memcpy(src->title, first->title, sizeof(src->title));
		memcpy(src->details, first->details, sizeof(src->details));
	}
}

int rd_verbs_open_queues(struct rd_source **s, unsigned int *n,
	const struct rd_verbs_config *config, struct rd_error *err)
{
	struct verbs_port *port = verbs_port_open(config, err);
	unsigned int wanted = *n;

	if (!port)
		return -1;
	if (verbs_queues_open(port, wanted, err) < 0) {
		verbs_port_close(port);
		return -1;
	}
	describe(port, config->port);
	describe_queues(port, wanted);
	for (unsigned int i = 0; i < port->n_queues; i++) {
		s[i] = &port->queue[i]->src;
		s[i]->ops = i ? &follower_ops : &verbs_ops;
		s[i]->port_sniffer = port->icmd.sniffer != NULL;
	}
	*n = port->n_queues;
	return 0;
}
