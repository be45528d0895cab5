/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue pair to send from: reliable connection (RC) or datagrams (UD), as programs use them, to
 * the port's own addresses; or raw frames.
 */
#pragma once

#include "selftest.h"
#include <infiniband/verbs.h>

#define QUEUE_PAIR_BYTES 65536 /* longest message */
#define QUEUE_PAIR_MTU	 1024  /* path MTU: fits into every Ethernet MTU */
#define QUEUE_PAIR_SLOTS 64    /* raw frames in flight */

struct queue_pair {
	struct ibv_context *ctx;
	const struct rd_port *port;
	const struct rd_gid *gid; /* NULL on InfiniBand without one, and of raw frames */
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah; /* UD: where it sends to */
	uint32_t ah_qpn;
	/* To send from, then to write into; for raw frames QUEUE_PAIR_SLOTS of RING_BUFFER. */
	uint8_t *memory;
	uint32_t mtu;		       /* bytes of payload in one packet: QUEUE_PAIR_MTU, or less */
	uint32_t retries, ack_timeout; /* 4.096 us * 2^ack_timeout */
};

/*
 * Makes a queue pair. `type`: IBV_QPT_RC or IBV_QPT_UD, which is in INIT and drops what it
 * receives, or IBV_QPT_RAW_PACKET, which can send. Returns 0 or an errno: EADDRNOTAVAIL without a
 * GID. queue_pair_close() in any case.
 */
int queue_pair_open(struct queue_pair *q, struct ibv_context *ctx, const struct rd_port *port,
	enum ibv_qp_type type);
/* RC: connects `q` to `to`, whose state does not change. 0 or an errno. */
int queue_pair_connect(struct queue_pair *q, const struct queue_pair *to);
/* UD: sets the destination to `to`; NULL: to a multicast group of this link. 0 or an errno. */
int queue_pair_address(struct queue_pair *q, const struct queue_pair *to);
/*
 * Sends `n` bytes, which begin at q->memory + at: as RDMA WRITE into the memory of `to` (RC), as
 * datagram, or as frame. 0 or an errno.
 */
int queue_pair_post(struct queue_pair *q, const struct queue_pair *to, size_t at, uint32_t n);
/* Polls for a completion: 1, 0 if there is none, -1 if they cannot be read. */
int queue_pair_poll(struct queue_pair *q, enum ibv_wc_status *status);
void queue_pair_close(struct queue_pair *q);
/* Destroys those that are not NULL, in this order. */
void objects_destroy(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_mr *mr, struct ibv_pd *pd);
