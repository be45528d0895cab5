/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How often the sniffer sees RDMA traffic of two QPs of the port, which stays in the adapter. */
#include "traffic.h"

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
	struct pair p = {.ctx = s->ctx, .port = st->port, .type = IBV_QPT_RC};
	const struct traffic bond = {.name = "bond",
		.what = "WRITEs of several connections, which drivers distribute among the ports "
			"of a bond",
		.send = send_many,
		.ctx = &p,
		.reliable = true};

	return rd_device_bond(st->device) && traffic_try(st, r, s, &bond, BOND_PAIRS);
}

/* --- the probe ---------------------------------------------------------------------------- */

static void try_all(struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s)
{
	unsigned int acks, known = traffic_within_port(st, r, s, &acks);

	result_number(r, "acks", "frames", acks);
	known += try_bond(st, r, s);
	traffic_summarize(
		st, r, s, known, rd_device_bond(st->device) ? 3 : 2, "traffic within the adapter");
}

const struct rd_probe rd_probe_loopback = {.name = "loopback",
	.question = "how often traffic within the adapter is seen",
	.objects = "three of each: PD, MR, CQ, QP; flow, AH",
	.frames = TRAFFIC_TRIES * (2 * TRAFFIC_FRAMES + BOND_PAIRS),
	.needs = RD_PROBE_SNIFFER | RD_PROBE_ACTIVE,
	.look = try_all};
