/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Asynchronous events of the device (ibv_get_async_event(3)), and the queues that they concern. */
#include "verbs_queue.h"
#include <rdmadump/verbs.h>
#include <sys/eventfd.h>

/* A failed CQ takes its queue with it: where both are reported, it is the cause. */
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
#define N_FAULTS (sizeof(faults) / sizeof(faults[0]))

static unsigned int fault_of(enum ibv_event_type type)
{
	for (size_t i = 0; i < N_FAULTS; i++)
		if (faults[i].type == type)
			return faults[i].fault;
	return 0;
}

/* NULL: a queue that does not exist any more. */
static struct verbs *affected_queue(struct verbs *lead, const struct ibv_async_event *event)
{
	for (unsigned int i = 0; i < lead->n_queues; i++) {
		struct verbs *q = lead->queue[i];

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
			return lead;
		}
	}
	return NULL;
}

static void wake(const struct verbs *q, const struct verbs *by)
{
	if (q != by && q->wake_fd >= 0)
		eventfd_write(q->wake_fd, 1);
}

static void report_fault(struct verbs *v, const struct ibv_async_event *event, unsigned int fault)
{
	struct verbs *q = affected_queue(v->lead, event);

	if (!q)
		return;
	atomic_fetch_or(&q->pending_faults, fault);
	wake(q, v);
}

static void event_take(struct verbs *v, const struct ibv_async_event *event)
{
	const struct rd_async_event *row = rd_async_event(event->event_type);
	unsigned int fault = fault_of(event->event_type);
	struct verbs *lead = v->lead;

	if (fault)
		report_fault(v, event, fault);
	if (!row || (row->of_port && event->element.port_num != (int)v->port_num))
		return;
	rd_source_note(&v->src, "%s", row->text);
	if (event->event_type != IBV_EVENT_DEVICE_FATAL)
		return;
	atomic_store(&lead->removed, true);
	for (unsigned int i = 0; i < lead->n_queues; i++)
		wake(lead->queue[i], v);
}

void verbs_events_take(struct verbs *v)
{
	struct ibv_async_event event;

	pthread_mutex_lock(&v->lead->lock);
	while (ibv_get_async_event(v->ctx, &event) == 0) {
		event_take(v, &event);
		ibv_ack_async_event(&event);
	}
	pthread_mutex_unlock(&v->lead->lock);
}

void verbs_events_apply(struct verbs *v)
{
	unsigned int pending = atomic_exchange(&v->pending_faults, 0);

	for (size_t i = 0; i < N_FAULTS; i++)
		if (pending & faults[i].fault && !v->fault.text)
			v->fault.text = faults[i].text;
	v->fault.cq_failed |= pending & FAULT_CQ;
}
