/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How often the sniffer sees RDMA traffic that does not leave the adapter: between two queue pairs
 * of the port, between the ports of the device, between a function and others of its adapter.
 */
#include "may_send.h"
#include "queue_pair.h"
#include "traffic.h"
#include <errno.h>
#include <rdmadump/packet.h>
#include <rdmadump/verbs.h>
#include <stdio.h>
#include <string.h>

#define PAYLOAD_BYTES 128
#define OTHERS_MAX    4 /* other ports and functions that are tried */
#define BOND_PAIRS    8 /* connections, which drivers distribute among the ports of a bond */

struct ends {
	struct ibv_context *ctx[2]; /* contexts of the sending queue pair and of the other one */
	const struct rd_port *port[2];
	enum ibv_qp_type type;
	enum rd_link link;
	uint32_t qpn;	   /* of the sender */
	unsigned int acks; /* ACKs that it received */
	struct queue_pair q[2];
};

/* --- traffic ------------------------------------------------------------------------------ */

static int open_pair(struct queue_pair q[2], const struct ends *ends)
{
	int rc = queue_pair_open(&q[0], ends->ctx[0], ends->port[0], ends->type);

	if (!rc)
		rc = queue_pair_open(&q[1], ends->ctx[1], ends->port[1], ends->type);
	if (!rc && ends->type == IBV_QPT_UD)
		return queue_pair_address(&q[0], &q[1]);
	if (!rc)
		rc = queue_pair_connect(&q[1], &q[0]);
	return rc ? rc : queue_pair_connect(&q[0], &q[1]);
}

static int open_ends(void *ctx, uint32_t run)
{
	struct ends *ends = ctx;
	int rc = open_pair(ends->q, ends);

	(void)run;
	ends->acks = 0;
	ends->qpn = ends->q[0].qp ? ends->q[0].qp->qp_num : 0;
	return rc;
}

static int send_pair(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct ends *ends = ctx;

	return queue_pair_send_numbers(st, &ends->q[0], &ends->q[1], w, PAYLOAD_BYTES);
}

static void close_ends(void *ctx)
{
	struct ends *ends = ctx;

	queue_pair_close(&ends->q[0]);
	queue_pair_close(&ends->q[1]);
}

/* A connection for each number. */
static int send_many(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	int rc = 0;

	for (uint32_t i = 0; i < w->m->count && !rc; i++) {
		enum ibv_wc_status status = IBV_WC_SUCCESS;
		struct queue_pair q[2] = {0};

		rc = open_pair(q, ctx);
		if (!rc) {
			numbered_block(q[0].memory, PAYLOAD_BYTES, w->m->run, i);
			rc = queue_pair_send(st, &q[0], &q[1], PAYLOAD_BYTES, w, &status);
		}
		if (!rc && status != IBV_WC_SUCCESS)
			rc = EIO;
		queue_pair_close(&q[0]);
		queue_pair_close(&q[1]);
	}
	return rc;
}

static void count_acks(void *ctx, const uint8_t *data, uint32_t len)
{
	struct ends *ends = ctx;
	struct rd_packet p;

	if (rd_packet_parse(ends->link, data, len, len, &p) && p.op->bits & RD_OP_ACK &&
		p.dest_qp == ends->qpn)
		ends->acks++;
}

/* --- kinds -------------------------------------------------------------------------------- */

/* Returns whether there is a result for the kind. */
static bool try_kind(const struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s,
	const struct traffic *t, uint32_t count)
{
	struct traffic_seen seen;
	struct numbered m;

	if (probe_over(st) || numbered_init(&m, count) < 0)
		return false;
	m.also = count_acks;
	m.also_ctx = t->ctx;
	seen = traffic_run(st, s, t, &m);
	traffic_report(r, t, &m, &seen);
	numbered_free(&m);
	return traffic_known(&seen);
}

static unsigned int try_own_port(
	const struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s)
{
	struct ends ends = {.ctx = {s->ctx, s->ctx},
		.port = {st->port, st->port},
		.type = IBV_QPT_RC,
		.link = st->port->link};
	const struct traffic rc = {"rc", "WRITEs between two connected QPs of the port", open_ends,
		close_ends, send_pair, &ends, .reliable = true};
	const struct traffic ud = {"ud", "datagrams between two QPs of the port", open_ends,
		close_ends, send_pair, &ends, false};
	const struct traffic bond = {"bond",
		"WRITEs of several connections, which drivers "
		"distribute among the ports of a bond",
		NULL, NULL, send_many, &ends, .reliable = true};
	unsigned int known = try_kind(st, r, s, &rc, TRAFFIC_FRAMES);

	result_number(r, "acks", "frames", ends.acks);
	if (rd_device_bond(st->device))
		known += try_kind(st, r, s, &bond, BOND_PAIRS);
	ends.type = IBV_QPT_UD;
	return known + try_kind(st, r, s, &ud, TRAFFIC_FRAMES);
}

/* Both directions between the tested port and another one, which is called `name`. */
static unsigned int try_other(const struct rd_selftest *st, struct rd_probe_result *r,
	struct sniffer *s, struct ibv_context *ctx, const struct rd_port *port, const char *name)
{
	struct ends to = {.ctx = {s->ctx, ctx},
		.port = {st->port, port},
		.type = IBV_QPT_RC,
		.link = st->port->link};
	struct ends from = {.ctx = {ctx, s->ctx},
		.port = {port, st->port},
		.type = IBV_QPT_RC,
		.link = st->port->link};
	char to_name[32], from_name[32], to_what[64], from_what[64];
	const struct traffic there = {
		to_name, to_what, open_ends, close_ends, send_pair, &to, .reliable = true};
	const struct traffic back = {
		from_name, from_what, open_ends, close_ends, send_pair, &from, .reliable = true};

	snprintf(to_name, sizeof(to_name), "to_%s", name);
	snprintf(from_name, sizeof(from_name), "from_%s", name);
	snprintf(to_what, sizeof(to_what), "WRITEs to %s", name);
	snprintf(from_what, sizeof(from_what), "WRITEs from %s", name);
	return (unsigned int)try_kind(st, r, s, &there, TRAFFIC_FRAMES) +
	       try_kind(st, r, s, &back, TRAFFIC_FRAMES);
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
	unsigned int others = 0, tried, known = try_own_port(st, r, s);

	known += try_ports(st, r, s, &others);
	known += try_functions(st, r, s, &others);
	result_number(r, "other_ports_and_functions", "", others);
	tried = (rd_device_bond(st->device) ? 3 : 2) + 2 * others;
	result_value(r, "%u of %u kinds", known, tried);
	if (traffic_is_unreadable(r, s))
		return;
	if (!known && !probe_over(st))
		result_skipped(r, "nothing could be sent, or the ring was always full: see "
				  "result.json");
	result_means(r, "traffic within the adapter is seen once, of the kinds that worked");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct sniffer s;

	if (traffic_sniffer(st, r, &s) == 0)
		try_all(st, r, &s);
	sniffer_close(&s);
}

const struct rd_probe rd_probe_loopback = {.name = "loopback",
	.question = "how often traffic within the adapter is seen",
	.objects = "three of each: PD, MR, CQ, QP; flow, AH; on another device, too",
	.frames = TRAFFIC_TRIES * TRAFFIC_FRAMES * (3 + 2 * OTHERS_MAX),
	.needs = RD_PROBE_SNIFFER,
	.run = run};
