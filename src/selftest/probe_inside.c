/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How often the port sniffer sees traffic between two queue pairs of the port, which does not leave
 * the adapter: two rules may copy it twice, or not at all.
 */
#include "port_capture.h"
#include "traffic.h"

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct port_capture c;
	struct rd_error err = {0};
	unsigned int acks;
	int rc = port_capture_open(&c, st->device, st->port, &err);

	if (!rc)
		rc = port_capture_attach(&c, RD_SNIFF_BOTH, &err);
	if (!rc) {
		traffic_summarize(st, r, &c.queue, traffic_within_port(st, r, &c.queue, &acks), 2,
			"traffic within the adapter");
		rc = rd_port_sniffer_detach(c.icmd, &err);
	}
	if (rc)
		result_failed(r, "%s", err.text);
	port_capture_close(&c);
}

const struct rd_probe rd_probe_inside = {.name = "inside",
	.question = "how often the port sniffer sees traffic within the adapter",
	.objects = "three of each: PD, MR, CQ, QP; AH; 6 firmware commands",
	.frames = TRAFFIC_TRIES * TRAFFIC_FRAMES * 2,
	.needs = RD_PROBE_ICMD | RD_PROBE_ACTIVE,
	.limit_s = 60,
	.run = run};
