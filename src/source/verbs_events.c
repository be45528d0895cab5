/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the device tells of itself beside frames (ibv_get_async_event(3)), and whom it concerns. */
#include "verbs.h"
#include <sys/eventfd.h>

enum event_effect { EVENT_TELL, EVENT_AILMENT, EVENT_REMOVED };

static const struct {
	enum ibv_event_type type;
	enum event_effect effect;
	unsigned int told; /* of an ailment */
	const char *text;  /* of the others */
} events[] = {
	{IBV_EVENT_PORT_ACTIVE, EVENT_TELL, 0, "port up"},
	{IBV_EVENT_PORT_ERR, EVENT_TELL, 0, "port down"},
	{IBV_EVENT_LID_CHANGE, EVENT_TELL, 0, "LID changed"},
	{IBV_EVENT_PKEY_CHANGE, EVENT_TELL, 0, "P_Key table changed"},
	{IBV_EVENT_GID_CHANGE, EVENT_TELL, 0, "GID table changed"},
	{IBV_EVENT_SM_CHANGE, EVENT_TELL, 0, "subnet manager changed"},
	{IBV_EVENT_CLIENT_REREGISTER, EVENT_TELL, 0, "subnet manager asks for registration"},
	{IBV_EVENT_CQ_ERR, EVENT_AILMENT, TOLD_CQ, NULL},
	{IBV_EVENT_QP_FATAL, EVENT_AILMENT, TOLD_QUEUE, NULL},
	{IBV_EVENT_WQ_FATAL, EVENT_AILMENT, TOLD_QUEUE, NULL},
	{IBV_EVENT_QP_REQ_ERR, EVENT_AILMENT, TOLD_REQUEST, NULL},
	{IBV_EVENT_QP_ACCESS_ERR, EVENT_AILMENT, TOLD_ACCESS, NULL},
	{IBV_EVENT_DEVICE_FATAL, EVENT_REMOVED, 0, "the device failed fatally or was removed"},
};

/* A failed CQ takes its queue with it: where both are told, it is the cause. */
static const struct {
	unsigned int told;
	const char *text;
} ailments[] = {
	{TOLD_CQ, "the completion queue overran"},
	{TOLD_QUEUE, "fatal error of the receive queue"},
	{TOLD_REQUEST, "invalid request of the queue pair"},
	{TOLD_ACCESS, "access violation of the queue pair"},
};

static bool event_is_ours(const struct verbs *v, const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
		return event->element.port_num == (int)v->port_num;
	default:
		return true;
	}
}

/* The queue that an ailment is of; NULL: one that is no more. */
static struct verbs *sufferer(struct verbs *lead, const struct ibv_async_event *event)
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

static void wake(const struct verbs *q, const struct verbs *teller)
{
	if (q != teller && q->wake_fd >= 0)
		eventfd_write(q->wake_fd, 1);
}

static void event_take(struct verbs *v, const struct ibv_async_event *event)
{
	struct verbs *lead = v->lead, *q;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (events[i].type != event->event_type || !event_is_ours(v, event))
			continue;
		if (events[i].effect == EVENT_AILMENT) {
			q = sufferer(lead, event);
			if (q) {
				atomic_fetch_or(&q->told, events[i].told);
				wake(q, v);
			}
			return;
		}
		rd_source_note(&v->src, "%s", events[i].text);
		if (events[i].effect == EVENT_REMOVED) {
			atomic_store(&lead->removed, true);
			for (unsigned int k = 0; k < lead->n_queues; k++)
				wake(lead->queue[k], v);
		}
	}
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

void verbs_events_heed(struct verbs *v)
{
	unsigned int told = atomic_exchange(&v->told, 0);

	for (size_t i = 0; i < sizeof(ailments) / sizeof(ailments[0]); i++)
		if (told & ailments[i].told && !v->ailment.text)
			v->ailment.text = ailments[i].text;
	v->ailment.queues |= told & TOLD_CQ;
}
