/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the sniffer has once per port: context, PD, QP, table, flow, clock, loss; and its queues. */
#pragma once

#include "verbs_queue.h"
#include <rdmadump/array.h>
#include <rdmadump/port_sniffer.h>

#define FRAME_MAX 65536

/* Addresses for the direction of frames; `now` is guarded by the port's lock. */
struct verbs_addresses {
	const struct rd_port *port;
	struct rd_local now;
	atomic_uint generation; /* incremented when `now` changes */
	int fd;			/* rtnetlink; -1: none */
	bool pending;		/* a link changed; only for the thread that reads fd */
};

/* --sniffer icmd */
struct verbs_port_sniffer {
	struct rd_port_sniffer *sniffer; /* NULL: a flow is used */
	bool attached;
	struct rd_error left; /* why it may still be attached, if it may be */
};

/* How the first InfiniBand packets end. */
struct trailer_watch {
	pthread_mutex_t lock; /* guards `of` */
	struct rd_trailers of[RD_DIRECTIONS];
	atomic_uint reported; /* bits of the directions */
};

struct verbs_port {
	const struct rd_device *device;
	const char *sysroot;
	unsigned int num;
	enum rd_link link;
	uint64_t speed; /* bit/s; 0: unknown */
	enum rd_rx_mode rx_mode;
	struct verbs_addresses addresses;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct verbs_clock clock;
	unsigned int n_buffers; /* of each queue */
	uint32_t frame_room;	/* bytes of a buffer for the longest frame */
	int numa_node;		/* of the rings; -1: any */
	uint32_t latency_us;	/* how long frames may wait in the ring while the thread sleeps */
	struct ibv_cq_moderation_caps moderation; /* zeros: CQs have no moderation */
	bool ipv6;				  /* the port's own addresses are IPv6 */
	char spread_note[80]; /* why there are fewer queues than wanted; "": there are not fewer */

	struct verbs_queue *queue[RD_QUEUES_MAX];
	unsigned int n_queues;
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
	struct ibv_flow *flow;
	struct verbs_port_sniffer icmd;
	struct trailer_watch trailer;
	int epoll_fd; /* asynchronous events and the first queue's wake_fd; -1: not needed */
	pthread_mutex_t lock; /* guards flow, QP and table, and reading of asynchronous events */
	atomic_bool stopped, removed;
	atomic_bool abandoned; /* objects could not be destroyed: closing the context frees them */
	atomic_bool keep_buffers;  /* larger buffers were refused */
	pthread_mutex_t loss_lock; /* guards `loss`; not held while counters are read */
	struct rd_loss loss;	   /* since start() */
	uint64_t identity;	   /* rd_port_identity() at start(); 0: unknown */
	char name[RD_NAME_MAX + 8], description[200], hardware[400];
};

/*
 * Opens context, PD and clock and computes the sizes; creates no queues. The caller owns the port:
 * verbs_port_close() also closes the queues. NULL with *err on failure.
 */
struct verbs_port *verbs_port_open(const struct rd_verbs_config *config, struct rd_error *err);
void verbs_port_close(struct verbs_port *port);

/* verbs_port_sniffer.c */

/* The device is open, no memory is registered. -1 with RD_CLASS_DEVICE. */
int verbs_port_sniffer_open(
	struct verbs_port *port, const struct rd_verbs_config *config, struct rd_error *err);
int verbs_port_sniffer_attach(struct verbs_port *port, struct rd_error *err);
/* -1 if the sniffer may still be attached. */
int verbs_port_sniffer_detach(struct verbs_port *port, struct rd_error *err);
/* Detaches if needed. */
void verbs_port_sniffer_close(struct verbs_port *port);

/* verbs_trailer.c */

/*
 * Appends missing checksums to packets of an InfiniBand port, as zeros, and checks how the first
 * ones end.
 */
void verbs_trailer_take(struct verbs_queue *q, struct rd_frame *frames, unsigned int n);
/* Reports the result if there were too few packets for a complete one. */
void verbs_trailer_end(const struct verbs_port *port);
/* rd_source_ops.trailers */
bool verbs_trailers(const struct rd_source *src, struct rd_trailers of[RD_DIRECTIONS]);

/* verbs_addresses.c */

/* Reads the addresses; nothing is watched yet. */
void verbs_addresses_open(struct verbs_port *port, const struct rd_port *from);
/* Called after the queues were created: the first queue's service() then detects changes. */
void verbs_addresses_watch(struct verbs_port *port);
void verbs_addresses_unwatch(struct verbs_port *port);
/* Reads the addresses again. The caller holds the port's lock. */
void verbs_addresses_read(struct verbs_port *port);
void verbs_addresses_service(struct verbs_port *port);
/* Updates the queue's copy. In the queue's thread. */
void verbs_addresses_take(struct verbs_queue *q);

/* verbs_error.c */

enum verbs_object { VERBS_MEMORY, VERBS_CQ, VERBS_QUEUE, VERBS_FLOW };
/* Advice for the user if the kernel refuses an object; static. */
const char *verbs_advice(enum verbs_object object, int errnum);
/* Returns -1 with "VERB on DEVICE:PORT: reason; todo". */
int verbs_fail(const struct verbs_port *port, struct rd_error *err, int errnum, const char *todo,
	const char *verb);
/* The same for an object, with verbs_advice(). */
int verbs_fail_object(const struct verbs_port *port, struct rd_error *err, int errnum,
	enum verbs_object object, const char *verb);
/* Makes fd non-blocking: the engine must not wait for any descriptor that it polls. 0 or -1. */
int verbs_nonblocking(const struct verbs_port *port, int fd, struct rd_error *err);
