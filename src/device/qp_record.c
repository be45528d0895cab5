/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decodes what the BPF programs report. */
#include "qp_program.h"
#include "sysfs.h"
#include <string.h>

#define QPN_MAX 0xffffffU

static void take_text(char *to, size_t size, const char *from, size_t capacity)
{
	char text[RECORD_DEVICE + 1];
	size_t n = strnlen(from, capacity);

	memcpy(text, from, n);
	text[n] = '\0';
	rd_text_clean(to, size, text);
}

bool qp_record_event(const void *record, size_t size, uint64_t epoch_ns, struct rd_qp_event *event)
{
	struct qp_record r;

	*event = (struct rd_qp_event){0};
	if (size < sizeof(r))
		return false;
	memcpy(&r, record, sizeof(r));
	/* QPs 0 and 1 are the kernel's, for management. */
	if (r.kind >= RD_QP_EVENT_KINDS || r.lqpn < 2 || r.lqpn > QPN_MAX || !r.key)
		return false;
	event->kind = (enum rd_qp_event_kind)r.kind;
	event->time_ns = epoch_ns + r.time_ns;
	event->key = r.key;
	event->port = r.port;
	event->lqpn = r.lqpn;
	take_text(event->device, sizeof(event->device), r.device, sizeof(r.device));
	if (event->kind == RD_QP_CONNECTED) {
		event->rqpn = r.rqpn;
		return r.rqpn >= 2 && r.rqpn <= QPN_MAX;
	}
	if (event->kind != RD_QP_CREATED)
		return true;
	event->pid = r.pid;
	event->start_ns = r.start_ns;
	take_text(event->comm, sizeof(event->comm), r.comm, sizeof(r.comm));
	return event->pid;
}
