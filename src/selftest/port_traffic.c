/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends numbered messages between two queue pairs that this program created on the port. */
#include "port_traffic.h"

static int connect_both(struct queue_pair q[2])
{
	int rc = queue_pair_connect(&q[1], &q[0]);

	return rc ? rc : queue_pair_connect(&q[0], &q[1]);
}

int port_traffic_send(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	const struct port_traffic *t = ctx;
	struct queue_pair q[2] = {0};
	int rc = queue_pair_open(&q[0], t->ctx, st->port, t->type);

	if (!rc)
		rc = queue_pair_open(&q[1], t->ctx, st->port, t->type);
	if (!rc)
		rc = t->type == IBV_QPT_UD ? queue_pair_address(&q[0], &q[1]) : connect_both(q);
	if (!rc)
		rc = queue_pair_send_numbers(st, &q[0], &q[1], w, PORT_TRAFFIC_BYTES);
	queue_pair_close(&q[0]);
	queue_pair_close(&q[1]);
	return rc;
}
