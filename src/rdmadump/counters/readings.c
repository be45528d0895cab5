/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the requested ports, reads their counters, and compares two readings. */
#include "counters.h"
#include <errno.h>
#include <rdmadump/memory.h>
#include <stdlib.h>
#include <string.h>

static int ports_add(struct ports *p, const struct rd_device *device, const struct rd_port *port,
	struct rd_error *err)
{
	if (!rd_append(&p->at, p->n, sizeof(*p->at)))
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot list the ports");
	p->at[p->n].device = device;
	p->at[p->n++].port = port;
	return 0;
}

/* A device's name alone means all of its ports. */
static int ports_of_device(struct ports *p, const char *name, struct rd_error *err)
{
	for (size_t i = 0; i < p->devices.n; i++) {
		const struct rd_device *d = &p->devices.dev[i];

		if (name && strcmp(d->name, name))
			continue;
		for (unsigned int k = 0; k < d->n_ports; k++)
			if (ports_add(p, d, &d->ports[k], err) < 0)
				return -1;
	}
	return 0;
}

int ports_find(struct ports *p, const struct counters_options *o, struct rd_error *err)
{
	const struct rd_device *device;
	const struct rd_port *port;

	if (rd_devices_glance(&p->devices, o->sysroot, err) < 0)
		return -1;
	if (ports_of_device(p, o->wanted, err) < 0)
		return -1;
	if (p->n)
		return 0;
	if (!o->wanted)
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			p->devices.n ? "see 'rdmadump list'" : rd_devices_none_todo(&p->devices),
			"no RDMA ports");
	if (rd_devices_find(&p->devices, o->wanted, 0, &device, &port, err) < 0)
		return -1;
	return ports_add(p, device, port, err);
}

void ports_free(struct ports *p)
{
	free(p->at);
	rd_devices_free(&p->devices);
}

int readings_take(struct readings *r, const struct ports *ports, const struct counters_options *o,
	struct rd_error *err)
{
	*r = (struct readings){.port = calloc(ports->n ? ports->n : 1, sizeof(*r->port))};
	if (!r->port)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot keep the counters");
	for (; r->n < ports->n; r->n++) {
		struct rd_counters *c = &r->port[r->n].counters;

		if (rd_counters_load(
			    c, o->sysroot, ports->at[r->n].device, ports->at[r->n].port, err) < 0 ||
			(!*o->sysroot && rd_counters_load_firmware(c, err) < 0)) {
			readings_free(r);
			return -1;
		}
	}
	return 0;
}

static const struct rd_counters *same_port(const struct readings *r, const struct rd_counters *c)
{
	const struct reading *same = RD_FIND(p, r->port, r->n,
		p->counters.port == c->port && !strcmp(p->counters.device, c->device));

	return same ? &same->counters : NULL;
}

int readings_check(const struct readings *before, const struct readings *after,
	const struct counters_options *o, struct rd_error *err)
{
	for (size_t i = 0; i < before->n; i++) {
		const struct rd_counters *then = &before->port[i].counters;
		const struct rd_counters *now = same_port(after, then);

		if (!now)
			rd_log(RD_LOG_WARNING, "'%s' has no %s port %u, which '%s' has", o->after,
				then->device, then->port, o->before);
		else if (now->time_ns && now->time_ns < then->time_ns)
			return rd_fail(err, RD_CLASS_USAGE, 0, "exchange them",
				"'%s' was read before '%s'", o->after, o->before);
	}
	return 0;
}

int readings_compare(const struct readings *before, struct readings *now, struct rd_error *err)
{
	for (size_t i = 0; i < now->n; i++) {
		struct reading *p = &now->port[i];
		const struct rd_counters *then = before ? same_port(before, &p->counters) : NULL;

		if (then) {
			p->growth = rd_counters_compare(then, &p->counters);
			if (p->counters.time_ns > then->time_ns)
				p->seconds = (double)(p->counters.time_ns - then->time_ns) / 1e9;
		}
		if ((then && !p->growth) ||
			rd_counters_judge(&p->findings, &p->counters, p->growth, p->seconds) < 0)
			return rd_fail(
				err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot compare the counters");
	}
	return 0;
}

void readings_free(struct readings *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->port[i].growth);
		rd_findings_free(&r->port[i].findings);
		rd_counters_free(&r->port[i].counters);
	}
	free(r->port);
	*r = (struct readings){0};
}

/* Values come from a cache for the device's lifespan: reading more often would show no growth. */
uint64_t counters_step(const struct readings *r, double seconds)
{
	for (size_t i = 0; i < r->n; i++)
		seconds = RD_MAX(seconds, r->port[i].counters.lifespan_ms / 1000.0);
	return (uint64_t)(seconds * 1e9);
}
