/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue pair of a program that uses RDMA, reliable connection (RC) or datagrams (UD). Probes send
 * from it to the port's own addresses, to see whether the sniffer shows the packets. Payloads are
 * numbered blocks (numbered.h).
 */
#ifndef RDMADUMP_SELFTEST_QUEUE_PAIR_H
#define RDMADUMP_SELFTEST_QUEUE_PAIR_H

#include "traffic.h"

#define QUEUE_PAIR_BYTES 65536 /* longest message */
#define QUEUE_PAIR_MTU	 1024  /* path MTU: fits into every Ethernet MTU */

struct queue_pair {
	struct ibv_context *ctx;
	const struct rd_port *port;
	const struct rd_gid *gid; /* NULL on InfiniBand without one */
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah; /* UD: where it sends to */
	uint32_t ah_qpn;
	uint8_t *memory;	       /* to send from, then to write into */
	uint32_t mtu;		       /* bytes of payload in one packet: QUEUE_PAIR_MTU, or less */
	uint32_t retries, ack_timeout; /* 4.096 us * 2^ack_timeout */
};

/*
 * Makes a queue pair in INIT, which drops what it receives. `type` is IBV_QPT_RC or IBV_QPT_UD.
 * Returns 0 or an errno: EADDRNOTAVAIL without a GID. queue_pair_close() in any case.
 */
int queue_pair_open(struct queue_pair *q, struct ibv_context *ctx, const struct rd_port *port,
	enum ibv_qp_type type);
/* RC: connects `q` to `to`, whose state does not change. 0 or an errno. */
int queue_pair_connect(struct queue_pair *q, const struct queue_pair *to);
/* UD: sets the destination to `to`, or, if that is NULL, to a multicast group of this link. 0 or an
 * errno. */
int queue_pair_address(struct queue_pair *q, const struct queue_pair *to);
/*
 * Sends `n` bytes, which begin at q->memory, as RDMA WRITE into the memory of `to` (RC), or as
 * datagram (UD), and drains the sniffer until that has ended. Returns 0 or an errno; the status of
 * the completion is in *status: IBV_WC_RETRY_EXC_ERR if there is no response.
 */
int queue_pair_send(const struct rd_selftest *st, struct queue_pair *q, const struct queue_pair *to,
	uint32_t n, struct watch *w, enum ibv_wc_status *status);
/* Sends the numbers of w->m, a block of `n` bytes in each message. 0 or an errno. */
int queue_pair_send_numbers(const struct rd_selftest *st, struct queue_pair *q,
	const struct queue_pair *to, struct watch *w, uint32_t n);
void queue_pair_close(struct queue_pair *q);

#endif
