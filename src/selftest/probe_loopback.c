/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How often the sniffer sees RDMA traffic that does not leave the adapter: between two queue pairs
 * of the port, between the ports of the device, between a function and others of its adapter.
 */
#include "traffic.h"
#include <errno.h>
#include <rdmadump/verbs.h>
#include <stdio.h>
#include <string.h>

#define OTHERS_MAX 4 /* other ports and functions that are tried */
#define BOND_PAIRS 8 /* connections, which drivers distribute among the ports of a bond */

/* Traffic for each number of a connection of its own. */
static int send_many(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct pair *p = ctx;
	int rc = 0;

	for (uint32_t i = 0; i < w->m->count && !rc; i++) {
		enum ibv_wc_status status = IBV_WC_SUCCESS;

		rc = pair_open(p, w->m->run);
		if (!rc) {
			numbered_block(p->q[0].memory, TRAFFIC_BYTES, w->m->run, i);
			rc = traffic_message(st, &p->q[0], &p->q[1], TRAFFIC_BYTES, w, &status);
		}
		if (!rc && status != IBV_WC_SUCCESS)
			rc = EIO;
		pair_close(p);
	}
	return rc;
}

static unsigned int try_bond(
	const struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s)
{
	struct pair p = {.ctx = {s->ctx, s->ctx}, .port = {st->port, st->port}, .type = IBV_QPT_RC};
	const struct traffic bond = {.name = "bond",
		.what = "WRITEs of several connections, which drivers distribute among the ports "
			"of "
			"a bond",
		.send = send_many,
		.ctx = &p,
		.reliable = true};

	return rd_device_bond(st->device) && traffic_try(st, r, s, &bond, BOND_PAIRS);
}

static bool try_way(const struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s,
	struct pair *p, const char *way, const char *other)
{
	char name[32], what[64];
	const struct traffic t = {name, what, pair_open, pair_close, pair_send, p, true, NULL};

	snprintf(name, sizeof(name), "%s_%s", way, other);
	snprintf(what, sizeof(what), "WRITEs %s %s", way, other);
	return traffic_try(st, r, s, &t, TRAFFIC_FRAMES);
}

/* Both directions between the tested port and another one, which is called `name`. */
static unsigned int try_other(const struct rd_selftest *st, struct rd_probe_result *r,
	struct sniffer *s, struct ibv_context *ctx, const struct rd_port *port, const char *name)
{
	struct pair to = {.ctx = {s->ctx, ctx}, .port = {st->port, port}, .type = IBV_QPT_RC};
	struct pair from = {.ctx = {ctx, s->ctx}, .port = {port, st->port}, .type = IBV_QPT_RC};

	return (unsigned int)try_way(st, r, s, &to, "to", name) +
	       try_way(st, r, s, &from, "from", name);
}

/* Frames between ports leave the adapter. */
static bool is_usable(const struct rd_selftest *st, const struct rd_port *port)
{
	char why[MAY_SEND_TEXT];

	return port_may_send(st->port, why) && port_may_send(port, why) &&
	       port->link == st->port->link && strcmp(port->state, "active") == 0;
}

static unsigned int try_ports(const struct rd_selftest *st, struct rd_probe_result *r,
	struct sniffer *s, unsigned int *others)
{
	unsigned int known = 0;

	for (unsigned int i = 0; i < st->device->n_ports && *others < OTHERS_MAX; i++) {
		const struct rd_port *port = &st->device->ports[i];
		char name[16];

		if (port->num == st->port->num || !is_usable(st, port))
			continue;
		++*others;
		snprintf(name, sizeof(name), "port%u", port->num);
		known += try_other(st, r, s, s->ctx, port, name);
	}
	return known;
}

/* A function and its PF, in either order. */
static bool is_relative(const struct rd_device *a, const struct rd_device *b)
{
	return *a->pci && *b->pci &&
	       (strcmp(a->function.parent, b->pci) == 0 || strcmp(b->function.parent, a->pci) == 0);
}

static const char *const function_names[] = {[RD_FUNCTION_UNKNOWN] = "function",
	[RD_FUNCTION_PF] = "pf",
	[RD_FUNCTION_VF] = "vf",
	[RD_FUNCTION_SF] = "sf",
	[RD_FUNCTION_UPLINK] = "uplink"};

static unsigned int try_function(const struct rd_selftest *st, struct rd_probe_result *r,
	struct sniffer *s, const struct rd_device *device)
{
	struct ibv_context *ctx;
	struct rd_error err;
	unsigned int known;

	if (rd_verbs_device_open(&ctx, device->name, NULL, NULL, &err) < 0)
		return 0;
	known = try_other(st, r, s, ctx, &device->ports[0], function_names[device->function.kind]);
	ibv_close_device(ctx);
	return known;
}

static unsigned int try_functions(const struct rd_selftest *st, struct rd_probe_result *r,
	struct sniffer *s, unsigned int *others)
{
	struct rd_devices devices;
	struct rd_error err;
	unsigned int known = 0;
	bool done = false;

	if (rd_devices_load(&devices, "", &err) < 0)
		return 0;
	for (size_t i = 0; i < devices.n && !done; i++) {
		const struct rd_device *device = &devices.dev[i];

		if (!is_relative(device, st->device) || !device->n_ports ||
			!is_usable(st, &device->ports[0]))
			continue;
		++*others;
		known += try_function(st, r, s, device);
		done = true;
	}
	rd_devices_free(&devices);
	return known;
}

/* --- the probe ---------------------------------------------------------------------------- */

static void try_all(const struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s)
{
	unsigned int others = 0, acks, tried, known = traffic_within_port(st, r, s, &acks);

	result_number(r, "acks", "frames", acks);
	known += try_bond(st, r, s);
	known += try_ports(st, r, s, &others);
	known += try_functions(st, r, s, &others);
	result_number(r, "other_ports_and_functions", "", others);
	tried = (rd_device_bond(st->device) ? 3 : 2) + 2 * others;
	traffic_summarize(st, r, s, known, tried, "traffic within the adapter");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct sniffer s;

	if (sniffer_begin(&s, st, r, NULL) == 0)
		try_all(st, r, &s);
	sniffer_close(&s);
}

const struct rd_probe rd_probe_loopback = {.name = "loopback",
	.question = "how often traffic within the adapter is seen",
	.objects = "three of each: PD, MR, CQ, QP; flow, AH; on another device, too",
	.frames = TRAFFIC_TRIES * TRAFFIC_FRAMES * (3 + 2 * OTHERS_MAX),
	.needs = RD_PROBE_SNIFFER | RD_PROBE_ACTIVE,
	.run = run};
