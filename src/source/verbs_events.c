/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asynchronous events of the device (ibv_get_async_event(3)), and the queues that they affect. */
#include "verbs_port.h"
#include <errno.h>
#include <rdmadump/verbs.h>
#include <sys/eventfd.h>

/* A failed CQ also breaks its queue: if both are reported, the CQ is the cause. */
static const struct {
	enum ibv_event_type type;
	unsigned int fault; /* FAULT_... */
	const char *text;
} faults[] = {
	{IBV_EVENT_CQ_ERR, FAULT_CQ, "the completion queue overran"},
	{IBV_EVENT_QP_FATAL, FAULT_QUEUE, "fatal error of the receive queue"},
	{IBV_EVENT_WQ_FATAL, FAULT_QUEUE, "fatal error of the receive queue"},
	{IBV_EVENT_QP_REQ_ERR, FAULT_REQUEST, "invalid request of the queue pair"},
	{IBV_EVENT_QP_ACCESS_ERR, FAULT_ACCESS, "access violation of the queue pair"},
};

static unsigned int fault_of(enum ibv_event_type type)
{
	for (size_t i = 0; i < RD_COUNT(faults); i++)
		if (faults[i].type == type)
			return faults[i].fault;
	return 0;
}

/* NULL: the event concerns a queue that no longer exists. */
static struct verbs_queue *affected_queue(
	struct verbs_port *port, const struct ibv_async_event *event)
{
	for (unsigned int i = 0; i < port->n_queues; i++) {
		struct verbs_queue *q = port->queue[i];

		switch (event->event_type) {
		case IBV_EVENT_CQ_ERR:
			if (q->cq == event->element.cq)
				return q;
			break;
		case IBV_EVENT_WQ_FATAL:
			if (q->wq == event->element.wq)
				return q;
			break;
		default:
			return port->queue[0];
		}
	}
	return NULL;
}

static void wake(const struct verbs_queue *q, const struct verbs_queue *by)
{
	if (q != by && q->wake_fd >= 0)
		eventfd_write(q->wake_fd, 1);
}

static void report_fault(
	struct verbs_queue *reader, const struct ibv_async_event *event, unsigned int fault)
{
	struct verbs_queue *q = affected_queue(reader->port, event);

	if (!q)
		return;
	atomic_fetch_or(&q->pending_faults, fault);
	wake(q, reader);
}

static void device_removed(struct verbs_queue *q)
{
	struct verbs_port *port = q->port;

	atomic_store(&port->removed, true);
	for (unsigned int i = 0; i < port->n_queues; i++)
		wake(port->queue[i], q);
}

static void event_take(struct verbs_queue *q, const struct ibv_async_event *event)
{
	const struct rd_async_event *row = rd_async_event(event->event_type);
	unsigned int fault = fault_of(event->event_type);
	struct verbs_port *port = q->port;

	if (fault)
		report_fault(q, event, fault);
	if (!row || (row->of_port && event->element.port_num != (int)port->num))
		return;
	if (event->event_type == IBV_EVENT_GID_CHANGE || event->event_type == IBV_EVENT_LID_CHANGE)
		verbs_addresses_read(port);
	rd_source_note(&q->src, RD_LOG_WARNING, "%s", row->text);
	if (event->event_type == IBV_EVENT_DEVICE_FATAL)
		device_removed(q);
}

void verbs_events_take(struct verbs_queue *q)
{
	struct ibv_async_event event;

	pthread_mutex_lock(&q->port->lock);
	errno = 0;
	while (ibv_get_async_event(q->port->ctx, &event) == 0) {
		event_take(q, &event);
		ibv_ack_async_event(&event);
		errno = 0;
	}
	/*
	 * For a removed device the kernel may report EPOLLERR and EIO, without an event
	 * (uverbs_main.c).
	 */
	if (errno == EIO && !q->port->removed)
		device_removed(q);
	pthread_mutex_unlock(&q->port->lock);
}

void verbs_events_apply(struct verbs_queue *q)
{
	unsigned int pending = atomic_exchange(&q->pending_faults, 0);

	/* The completions of a failure may lead to its repair before its event arrives. */
	if (pending && !(pending & FAULT_CQ) && verbs_queue_state(q) == VERBS_STATE_READY)
		return;
	for (size_t i = 0; i < RD_COUNT(faults); i++)
		if (pending & faults[i].fault && !q->fault.text)
			q->fault.text = faults[i].text;
	q->fault.cq_failed |= pending & FAULT_CQ;
}
