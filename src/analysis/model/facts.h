/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Facts of a capture file: queue pairs, addresses and counters of devices. */
#ifndef RDMADUMP_ANALYSIS_FACTS_H
#define RDMADUMP_ANALYSIS_FACTS_H

#include "state.h"
#include <rdmadump/notation.h>

#define FACTS_PORTS 16
#define FACTS_GIDS  64

/* A QP and its nth peer. */
struct qp_peer {
	uint32_t local, remote, nth;
};

struct facts_port {
	char *device;
	unsigned int port;
	char gids[FACTS_GIDS][RD_ADDRESS_LEN]; /* in the notation of reports */
	unsigned int n_gids;
	char driver[32];      /* "": unknown */
	uint64_t speed;	      /* bit/s, 0: unknown */
	json_t *first, *last; /* facts that hold counters, an object of numbers; NULL: none */
};

struct facts {
	struct qp_peer *peers; /* an open hash by local QP and nth */
	size_t mask, n;
	uint64_t left_out; /* facts over the limits */
	struct facts_port ports[FACTS_PORTS];
	unsigned int n_ports;
};

#endif
