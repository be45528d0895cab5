/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of the program traffic. */
#pragma once

#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QPS_MAX	  128
#define MEMORY	  (1u << 20)
#define SEND_HALF (MEMORY / 2) /* offset of what is received */
#define GRH_BYTES 40
#define QKEY	  0x11111111
#define STATUSES  32
#define OPS_MAX	  16

struct kind {
	const char *name;
	enum ibv_wr_opcode opcode;
};

struct op {
	const struct kind *kind;
	uint32_t size;
	unsigned int count;
};

struct options {
	const char *side, *exchange, *device, *address, *advertised, *multicast;
	enum ibv_qp_type type;
	unsigned int mtu, qps, recvs, recv_size, timeout, retry, rnr_retry, rnr_timer, read_depth,
		depth, traffic_class;
	int access, expect;
	bool srq, bad_rkey;
	struct op ops[OPS_MAX];
	unsigned int n_ops;
};

struct end {
	uint32_t qpn[QPS_MAX], psn[QPS_MAX], rkey;
	uint64_t address;
	union ibv_gid gid;
};

struct traffic {
	struct options o;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[QPS_MAX];
	struct ibv_ah *ah;
	uint8_t *memory;
	int gid_index, group_socket;
	struct end me, peer;
	unsigned int in_flight[QPS_MAX];
	bool broken[QPS_MAX];
	unsigned int sent[STATUSES], received[STATUSES];
};

/* Prints what failed and errno, and exits with status 1. */
void die(const char *what) __attribute__((noreturn));

/* traffic_options.c: the arguments; ends the program at wrong ones. */
void read_options(struct options *o, int argc, char **argv);

/* traffic_meet.c: each end's files PREFIX.SIDE.WHAT, of which the other waits for one. */
void pause_ms(long ms);
void publish(const struct traffic *t, const char *what);
bool published(const struct traffic *t, const char *what);
void wait_for(const struct traffic *t, const char *what); /* a minute at most */
void read_peer(struct traffic *t);

/* traffic_open.c: device, memory and QPs. */
void open_end(struct traffic *t);    /* QPs in INIT; fills t->me */
void connect_end(struct traffic *t); /* with t->peer: QPs in RTS */
void join_group(struct traffic *t);
void destroy_qps(struct traffic *t);
void deregister(struct traffic *t); /* memory */
void close_end(struct traffic *t);
