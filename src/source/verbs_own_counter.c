/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counter of lost frames that counts for the sniffer's QP alone (--own-counter). It is bound
 * while the program still has its privileges, between creating the QP and its first transition;
 * reading needs none. Work queues cannot have one (src/device/own_counter.c).
 */
#include "verbs_port.h"
#include <rdmadump/clock.h>
#include <rdmadump/device.h>
#include <rdmadump/log.h>
#include <rdmadump/own_counter.h>

void verbs_own_counter_bind(struct verbs_port *port)
{
	struct verbs_own_counter *own = &port->own;

	/* A second set would not have what the first one counted. */
	if (own->wanted && !own->ended)
		rd_own_counter_bind(
			&own->counter, port->device, port->num, port->qp->qp_num, &own->why);
}

void verbs_own_counter_end(struct verbs_port *port)
{
	if (!port->own.counter || port->own.ended)
		return;
	port->own.ended = true;
	rd_log(RD_LOG_WARNING,
		"%s: the queue pair is replaced, and its own counter ends with it: the loss is "
		"unknown from here on",
		port->name);
}

void verbs_own_counter_close(struct verbs_port *port)
{
	rd_own_counter_close(port->own.counter);
	port->own.counter = NULL;
	port->own.why = (struct rd_error){0};
}

void verbs_own_counter_check(struct verbs_port *port)
{
	struct verbs_own_counter *own = &port->own;

	if (!own->wanted || own->counter)
		return;
	if (own->why.class == RD_CLASS_NONE)
		rd_fail(&own->why, RD_CLASS_DEVICE, 0, "capture without --queues",
			"frames are received by work queues, and a counter can be bound to a queue "
			"pair only");
	rd_log(RD_LOG_WARNING,
		"%s: --own-counter: the port's counter is used, which all queue pairs share: %s",
		port->name, own->why.text);
}

/*
 * Counters are read by the device's name. If that is another device's now, as after a reload of the
 * driver, they are not this one's: none is returned.
 */
static void read_shared(const struct verbs_port *port, struct rd_loss_counters *now)
{
	rd_loss_read(port->sysroot, port->device, port->num, now);
	if (port->identity &&
		rd_port_identity(port->sysroot, port->device->name, port->num) != port->identity)
		now->n = now->n_witnesses = 0;
}

void verbs_loss_read(struct verbs_port *port, struct rd_loss_counters *now)
{
	if (!port->own.counter)
		read_shared(port, now);
	else if (!port->own.ended)
		rd_own_counter_read(port->own.counter, now);
	else
		*now = (struct rd_loss_counters){.time_ns = rd_monotonic_ns()};
}
