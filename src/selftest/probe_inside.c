/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How often the port sniffer sees traffic between two queue pairs of the port, which does not leave
 * the adapter: two rules may copy it twice, or not at all.
 */
#include "port_capture.h"
#include "port_traffic.h"

static bool try_kind(const struct rd_selftest *st, struct port_capture *c,
	struct rd_probe_result *r, const struct traffic *t)
{
	struct traffic_seen seen;
	struct numbered m;

	if (probe_over(st) || numbered_init(&m, TRAFFIC_FRAMES) < 0)
		return false;
	seen = traffic_run(st, &c->queue, t, &m);
	traffic_report(r, t, &m, &seen);
	numbered_free(&m);
	return traffic_known(&seen);
}

static void try_kinds(
	const struct rd_selftest *st, struct port_capture *c, struct rd_probe_result *r)
{
	struct port_traffic connected = {c->ctx, IBV_QPT_RC}, datagrams = {c->ctx, IBV_QPT_UD};
	const struct traffic kinds[] = {
		{.name = "rc",
			.what = "WRITEs between two connected QPs of the port",
			.send = port_traffic_send,
			.ctx = &connected,
			.reliable = true},
		{.name = "ud",
			.what = "datagrams between two QPs of the port",
			.send = port_traffic_send,
			.ctx = &datagrams}};
	struct rd_error err = {0};
	unsigned int known = 0;

	if (port_capture_attach(c, RD_SNIFF_BOTH, &err) < 0) {
		result_failed(r, "%s", err.text);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		known += try_kind(st, c, r, &kinds[i]);
	result_value(r, "%u of 2 kinds", known);
	if (!known && !probe_over(st))
		result_skipped(r, "nothing could be sent, or the ring was always full: see the "
				  "errors in result.json");
	result_means(r, "traffic within the adapter is seen once, of the kinds that worked");
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
	.needs = RD_PROBE_ICMD,
	.limit_s = 60,
	.run = run};
