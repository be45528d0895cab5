/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How often the port sniffer sees traffic between two queue pairs of the port, which does not leave
 * the adapter: two rules may copy it twice, or not at all.
 */
#include "port_capture.h"
#include "traffic.h"

static void try_kinds(
	const struct rd_selftest *st, struct port_capture *c, struct rd_probe_result *r)
{
	struct rd_error err = {0};
	unsigned int acks;

	if (port_capture_attach(c, RD_SNIFF_BOTH, &err) < 0) {
		result_failed(r, "%s", err.text);
		return;
	}
	traffic_summarize(st, r, &c->queue, traffic_within_port(st, r, &c->queue, &acks), 2,
		"traffic within the adapter");
	if (port_capture_detach(c, &err) < 0)
		result_failed(r, "%s", err.text);
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct port_capture c;

	if (port_capture_start(&c, st, r) == 0)
		try_kinds(st, &c, r);
	port_capture_close(&c);
}

const struct rd_probe rd_probe_inside = {.name = "inside",
	.question = "how often the port sniffer sees traffic within the adapter",
	.objects = "three of each: PD, MR, CQ, QP; AH; 6 firmware commands",
	.frames = TRAFFIC_TRIES * TRAFFIC_FRAMES * 2,
	.needs = RD_PROBE_ICMD | RD_PROBE_ACTIVE,
	.limit_s = 60,
	.run = run};
