/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames from and to another machine: this end connects (--peer) or listens (--listen), and both
 * count what they sent, what arrived, and what their captures saw.
 */
#include "peer_round.h"
#include <errno.h>
#include <rdmadump/document.h>
#include <rdmadump/units.h>
#include <rdmadump/verbs.h>
#include <stdio.h>
#include <string.h>

/* --- what watches ------------------------------------------------------------------------- */

static void open_eye(struct peer_eye *e, const struct rd_selftest *st, struct rd_probe_result *r)
{
	struct rd_error err;
	int rc;

	*e = (struct peer_eye){.name = "", .tap = {.fd = -1}};
	rc = sniffer_open(&e->sniffer, st->device, st->port, NULL);
	if (!rc)
		rc = sniffer_flow_create(&e->sniffer);
	result_errno(r, "sniffer_error", rc);
	if (!rc) {
		e->name = "sniffer";
		e->ctx = e->sniffer.ctx;
		return;
	}
	sniffer_close(&e->sniffer);
	if (rd_verbs_device_open(&e->ctx, st->device->name, NULL, NULL, &err) < 0)
		e->ctx = NULL;
	rc = tap_open(&e->tap, st->port);
	result_errno(r, "netdev_error", rc);
	if (rc)
		tap_close(&e->tap);
	else
		e->name = "netdev";
}

static void close_eye(struct peer_eye *e)
{
	tap_close(&e->tap);
	if (e->ctx && e->ctx != e->sniffer.ctx)
		ibv_close_device(e->ctx);
	sniffer_close(&e->sniffer);
}

/* --- what this end is --------------------------------------------------------------------- */

static void fill_hello(
	struct peer_hello *h, const struct rd_selftest *st, const struct peer_eye *eye)
{
	const struct rd_port *port = st->port;
	const struct rd_gid *gid = queue_pair_gid(port);

	*h = (struct peer_hello){.infiniband = port->link == RD_LINK_INFINIBAND,
		.has_mac = port->n_netdevs > 0,
		.has_gid = gid != NULL,
		.lid = port->lid};
	snprintf(h->program, sizeof(h->program), "%.31s", rd_program());
	snprintf(h->device, sizeof(h->device), "%.31s", st->device->name);
	snprintf(h->watches, sizeof(h->watches), "%s", eye->name);
	if (port->n_netdevs)
		memcpy(h->mac, port->netdevs[0].mac, sizeof(h->mac));
	if (!gid)
		return;
	h->gid_type = (uint8_t)gid->type;
	memcpy(h->gid, gid->raw, sizeof(h->gid));
}

/* --- all rounds --------------------------------------------------------------------------- */

struct run {
	const struct rd_selftest *st;
	struct rd_probe_result *r;
	struct peer_eye *eye;
	struct peer_hello here, there;
	struct peer_link link;
	struct peer_contents contents;
	unsigned int known; /* rounds */
};

/* Returns -1 if the connection is unusable. */
static int run_round(struct run *run, uint32_t kind, bool from_listener)
{
	struct peer_round p = {.st = run->st,
		.result = run->r,
		.kind = &peer_kinds[kind],
		.number = kind,
		.sends = run->st->config->listen == from_listener,
		.eye = run->eye,
		.here = &run->here,
		.there = &run->there,
		.contents = &run->contents};
	bool known;
	int rc = peer_round_run(&p, &run->link, &known);

	run->known += known;
	return rc;
}

static void judge(struct run *run, bool whole)
{
	struct rd_probe_result *r = run->r;

	peer_report_contents(r, &run->contents);
	result_value(r, "%u of %u rounds", run->known, 2 * peer_n_kinds);
	result_bool(r, "complete", whole);
	if (!whole && *run->link.why)
		result_failed(r, "after %u round%s with a result: %s", run->known,
			rd_plural(run->known), run->link.why);
	else if (!*run->eye->name)
		result_skipped(r,
			"neither the device's sniffer nor its netdev can be captured here: "
			"see the errors in result.json");
	else if (whole && !run->known)
		result_skipped(r, "nothing got from one end to the other: see the errors in "
				  "result.json, and whether both ports are on one network");
	result_means(r, "both ends see once what they send each other, of the kinds that worked");
}

static void run_rounds(struct run *run)
{
	const struct peer_message bye = {.type = PEER_BYE};
	struct peer_message last;
	int rc = 0;

	result_text(run->r, "peer_program", run->there.program);
	result_text(run->r, "peer_device", run->there.device);
	result_text(run->r, "peer_watches_by", run->there.watches);
	if (run->here.infiniband != run->there.infiniband) {
		result_skipped(run->r,
			"this port is %s, the peer's is %s: name ports that are "
			"connected",
			run->here.infiniband ? "InfiniBand" : "Ethernet",
			run->there.infiniband ? "InfiniBand" : "Ethernet");
		return;
	}
	for (uint32_t i = 0; i < peer_n_kinds && !rc; i++) {
		rc = run_round(run, i, false);
		if (!rc)
			rc = run_round(run, i, true);
	}
	if (!rc && (peer_link_send(&run->link, &bye) < 0 ||
			   peer_link_receive(&run->link, PEER_BYE, &last) < 0))
		rc = -1;
	judge(run, rc == 0);
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct peer_eye eye;
	struct run all = {.st = st, .r = r, .eye = &eye};
	int rc;

	rd_clock_set(&all.contents.clock);
	open_eye(&eye, st, r);
	result_text(r, "watches_by", eye.name);
	fill_hello(&all.here, st, &eye);
	rc = st->config->listen ? peer_link_accept(&all.link, st, &all.here, &all.there)
				: peer_link_connect(&all.link, st, &all.here, &all.there);
	if (rc == 0)
		run_rounds(&all);
	else if (*all.link.why)
		result_skipped(r, "%s", all.link.why);
	peer_link_close(&all.link);
	close_eye(&eye);
}

const struct rd_probe rd_probe_peer = {.name = "peer",
	.question = "whether both ends see once what they send each other",
	.objects = "two of each: PD, MR, CQ, QP; flow, AH, multicast group; sockets",
	.frames = 2 * 6 * PEER_FRAMES,
	.limit_s = PEER_LIMIT_S,
	.needs = RD_PROBE_PEER,
	.run = run};
