/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue of events: its memory is used again whenever it is empty. */
#include "monitored.h"
#include <rdmadump/clock.h>
#include <rdmadump/log.h>
#include <rdmadump/memory.h>
#include <stdarg.h>
#include <stdio.h>

void events_put(const struct event_to *to, const char *kind, const char *netdev,
	const char *previous, const char *fmt, ...)
{
	struct events *q = to->queue;
	struct rd_event *e = rd_append(&q->event, q->n, sizeof(*e));
	va_list ap;

	if (!e) {
		rd_log(RD_LOG_WARNING, "out of memory: an event is not reported");
		return;
	}
	q->n++;
	*e = to->as;
	e->ts_ns = rd_wall_ns();
	e->kind = kind;
	snprintf(e->netdev, sizeof(e->netdev), "%s", netdev);
	snprintf(e->previous, sizeof(e->previous), "%s", previous);
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

bool events_next(struct events *q, struct rd_event *event)
{
	if (q->first == q->n)
		return false;
	*event = q->event[q->first++];
	if (q->first == q->n)
		q->first = q->n = 0;
	return true;
}
