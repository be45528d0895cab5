/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Traffic between two queue pairs of this program on the port: `send` of a struct traffic. */
#ifndef RDMADUMP_SELFTEST_PORT_TRAFFIC_H
#define RDMADUMP_SELFTEST_PORT_TRAFFIC_H

#include "queue_pair.h"

#define PORT_TRAFFIC_BYTES 128 /* message size: one packet */

struct port_traffic {
	struct ibv_context *ctx;
	enum ibv_qp_type type; /* IBV_QPT_RC: WRITEs; IBV_QPT_UD: datagrams */
};

/* `ctx`: a struct port_traffic. 0 or an errno. */
int port_traffic_send(const struct rd_selftest *st, void *ctx, struct watch *w);

#endif
