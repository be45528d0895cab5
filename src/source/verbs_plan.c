/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decides number and type of a port's receive queues, and creates and closes them together. */
#include "verbs_port.h"
#include <errno.h>
#include <rdmadump/fd.h>
#include <rdmadump/privilege.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define BUFFERS_MIN 32 /* smallest ring that is useful if locked memory is limited */

static int queue_open(struct verbs_queue *q, struct rd_error *err)
{
	q->channel = ibv_create_comp_channel(q->port->ctx);
	if (!q->channel)
		return verbs_fail(q->port, err, errno, "raise the limit of open files (ulimit -n)",
			"create_comp_channel");
	if (verbs_nonblocking(q->port, q->channel->fd, err) < 0)
		return -1;
	q->src.frame_fd = q->channel->fd;
	return verbs_ring_init(&q->ring, q->port->pd, q->port->n_buffers, q->port->frame_room,
		q->port->numa_node, err);
}

/* With several threads: each can be woken when another one reads an event for its queue. */
static int wakes_open(struct verbs_port *port, struct rd_error *err)
{
	struct epoll_event event = {.events = EPOLLIN};

	for (unsigned int i = 0; i < port->n_queues; i++) {
		struct verbs_queue *q = port->queue[i];

		q->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (q->wake_fd < 0)
			return verbs_fail(port, err, errno,
				"raise the limit of open files (ulimit -n)", "eventfd");
		q->src.event_fd = q->wake_fd;
	}
	port->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (port->epoll_fd < 0 ||
		epoll_ctl(port->epoll_fd, EPOLL_CTL_ADD, port->queue[0]->wake_fd, &event) < 0 ||
		epoll_ctl(port->epoll_fd, EPOLL_CTL_ADD, port->ctx->async_fd, &event) < 0)
		return verbs_fail(
			port, err, errno, "raise the limit of open files (ulimit -n)", "epoll");
	port->queue[0]->src.event_fd = port->epoll_fd;
	return 0;
}

static struct verbs_queue *queue_new(struct verbs_port *port, struct rd_error *err)
{
	struct verbs_queue *q = calloc(1, sizeof(*q));

	if (!q) {
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the source");
		return NULL;
	}
	q->port = port;
	q->index = port->n_queues;
	q->src.local = port->addresses.now;
	q->wake_fd = -1;
	port->queue[port->n_queues++] = q;
	return q;
}

/* After a queue with the timestamps of the clock was refused; false: there is no other clock. */
static bool lower_clock(struct verbs_port *port, struct rd_error *err)
{
	const char *was = port->clock.kind->title;

	if (!port->clock.kind->wc_flags || !verbs_clock_lower(&port->clock))
		return false;
	rd_log(RD_LOG_DEBUG, "%s: no queue with %s: %s", port->name, was, err->text);
	*err = (struct rd_error){0};
	return true;
}

/* A device may report a clock and yet refuse a CQ with its timestamps. */
static int cq_create(struct verbs_queue *q, struct rd_error *err)
{
	while (verbs_cq_create(q, err) < 0)
		if (q->index || !lower_clock(q->port, err))
			return -1;
	return 0;
}

/*
 * A flow may remain in effect for a while after it was destroyed, until after the next one was
 * created: its frames would be the first ones of the capture, followed by a gap. So the queue pair
 * is replaced, since nothing is delivered to a destroyed one; so is its CQ, where the pair has its
 * own receive queue. Work queues are emptied at the start.
 */
static int queue_pair_renew(struct verbs_port *port, bool in_table, struct rd_error *err)
{
	struct verbs_queue *q = port->queue[0];

	if (in_table) {
		verbs_spread_destroy(port);
		return verbs_spread_create(port, err);
	}
	verbs_queues_destroy(port);
	return verbs_cq_create(q, err) < 0 ? -1 : verbs_queue_create(q, err);
}

/*
 * Creates everything including the flow, which is removed again: if the kernel refuses something,
 * it does so before an output file is created. queues: work queues behind a QP with a table (RSS);
 * 0: the QP's own queue.
 */
static int queues_create(struct verbs_port *port, unsigned int queues, struct rd_error *err)
{
	for (unsigned int i = 0; i == 0 || i < queues; i++) {
		struct verbs_queue *q = queue_new(port, err);

		if (!q || queue_open(q, err) < 0 || cq_create(q, err) < 0 ||
			(queues ? verbs_wq_create(q, err) : verbs_queue_create(q, err)) < 0)
			return -1;
		q->rest = q->ring.n;
	}
	port->queue[0]->src.event_fd = port->ctx->async_fd;
	if (port->n_queues > 1 && wakes_open(port, err) < 0)
		return -1;
	verbs_addresses_watch(port);
	if (queues && verbs_spread_create(port, err) < 0)
		return -1;
	/* Whether the firmware has the command was checked when the device was opened. */
	if (port->icmd.sniffer)
		return 0;
	if (verbs_flow_create(port, err) < 0 || verbs_flow_destroy(port, err) < 0)
		return -1;
	return queue_pair_renew(port, queues > 0, err);
}

void verbs_queues_close(struct verbs_port *port)
{
	verbs_queues_destroy(port);
	for (unsigned int i = 0; i < port->n_queues; i++) {
		struct verbs_queue *q = port->queue[i];

		verbs_mlx5_free(q);
		/* The device may write to the pages until the context is closed. */
		if (port->abandoned) {
			q->ring.mr = NULL;
			q->ring.memory = NULL;
		}
		verbs_ring_fini(&q->ring);
		if (q->channel && ibv_destroy_comp_channel(q->channel))
			close(q->channel->fd);
		rd_fd_close(&q->wake_fd);
		free(q);
	}
	port->n_queues = 0;
	verbs_addresses_unwatch(port);
	rd_fd_close(&port->epoll_fd);
}

/* Pinned memory counts against the limit of locked memory: half as many buffers may fit. */
static bool shrink(struct verbs_port *port, const struct rd_error *why)
{
	const bool limited =
		(why->errnum == ENOMEM || why->errnum == EAGAIN) && rd_lockable() != UINT64_MAX;

	if (!limited || port->n_buffers <= BUFFERS_MIN)
		return false;
	port->n_buffers /= 2;
	return true;
}

static void warn_shrunk(const struct verbs_port *port, unsigned int asked)
{
	uint64_t limit = rd_lockable();
	char most[RD_UNITS_LEN];

	rd_log(RD_LOG_WARNING,
		"%s: only %s of memory may be locked (ulimit -l): %u receive buffers instead of "
		"%u; " RD_NEEDS_LOCK ", or ask for fewer (-b %d)",
		port->name, rd_fmt_kib(most, limit), port->n_buffers, asked,
		__builtin_ctz(port->n_buffers));
}

/* Halves the buffers while the limit of locked memory is the cause; returns the first error. */
static int plan_try(struct verbs_port *port, unsigned int queues, struct rd_error *err)
{
	unsigned int buffers = port->n_buffers;
	struct rd_error first = {0};

	while (queues_create(port, queues, err) < 0) {
		verbs_queues_close(port);
		if (first.class == RD_CLASS_NONE)
			first = *err;
		if (!shrink(port, err)) {
			port->n_buffers = buffers;
			*err = first;
			return -1;
		}
		*err = (struct rd_error){0};
	}
	if (port->n_buffers != buffers)
		warn_shrunk(port, buffers);
	return 0;
}

/* Work queues if several are wanted, else the queue that every device with a sniffer has. */
static int plans_try(struct verbs_port *port, unsigned int wanted, struct rd_error *err)
{
	const char *why = "";
	unsigned int most = verbs_spread_most(port, wanted, &why);

	if (most < wanted)
		snprintf(port->spread_note, sizeof(port->spread_note), "%s", why);
	if (most > 1) {
		if (plan_try(port, most, err) == 0)
			return 0;
		snprintf(port->spread_note, sizeof(port->spread_note), "%.*s",
			(int)strcspn(err->text, ";"), err->text);
		*err = (struct rd_error){0};
	}
	return plan_try(port, 0, err);
}

/* Some firmware accepts a CQ with real-time timestamps and refuses a queue on that CQ. */
int verbs_queues_open(struct verbs_port *port, unsigned int wanted, struct rd_error *err)
{
	while (plans_try(port, wanted, err) < 0)
		if ((err->errnum != EOPNOTSUPP && err->errnum != EINVAL) || !lower_clock(port, err))
			return -1;
	return 0;
}
