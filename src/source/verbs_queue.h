/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One receive queue of the sniffer: its CQ, its work queue or the QP's own, its ring, its faults.
 */
#ifndef RDMADUMP_SOURCE_VERBS_QUEUE_H
#define RDMADUMP_SOURCE_VERBS_QUEUE_H

#include "verbs_backlog.h"
#include "verbs_clock.h"
#include "verbs_gather.h"
#include "verbs_ring.h"
#include <infiniband/verbs.h>
#include <rdmadump/source.h>
#include <stdatomic.h>

/* Why a queue cannot receive any more; NULL text: it can. */
struct queue_fault {
	const char *text;
	const char *todo; /* set: a repair is of no use, this is */
	bool cq_failed;	  /* a reset of the queue does not help */
	bool unpollable;  /* nothing more can be taken from the CQ */
};

/* Faults that an asynchronous event reports, perhaps to another queue's thread. */
enum { FAULT_CQ = 1 << 0, FAULT_QUEUE = 1 << 1, FAULT_REQUEST = 1 << 2, FAULT_ACCESS = 1 << 3 };

/* Frames that were longer than their buffers. */
struct verbs_oversize {
	_Atomic uint64_t frames;
	uint64_t seen, reported;
	uint32_t longest; /* bytes; 0: unknown */
	bool unsure;	  /* since the last one nothing was received: it may be in error */
	bool grow;	  /* larger buffers are wanted */
	unsigned int since_grown;
};

struct verbs_mlx5;
struct verbs_path;
struct verbs_port;

struct verbs_queue {
	struct rd_source src;
	struct verbs_port *port;
	unsigned int index; /* among the port's queues; the first one may use the QP's own queue */
	const struct verbs_path *path;
	struct verbs_mlx5 *mlx5; /* NULL: everything goes through libibverbs */
	struct verbs_stamps stamps;
	struct verbs_backlog backlog;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex; /* the same, where the provider has extended CQs; else NULL */
	struct ibv_wq *wq;	 /* NULL: the QP's own receive queue */
	struct verbs_ring ring;
	unsigned int taken;   /* buffers of the last batch, to be posted again */
	unsigned int events;  /* completion events of this CQ */
	unsigned int unacked; /* completion events read and not acknowledged */
	bool armed;
	struct verbs_gather gather;
	struct queue_fault fault;
	struct verbs_oversize oversize;
	unsigned int rest; /* frames that may be received once stopped, where the flow lives on */
	atomic_uint pending_faults; /* FAULT_... */
	unsigned int addresses;	    /* generation of the port's that src.local is */
	unsigned int repairs;	    /* in a row */
	_Atomic uint64_t gaps;
	int wake_fd; /* an eventfd, readable when another thread reported a fault; -1: none */
};

/* The CQ, not armed. On failure nothing is left. */
int verbs_cq_create(struct verbs_queue *q, struct rd_error *err);
/* The QP on the CQ, receives posted, ready to receive; no flow yet. */
int verbs_queue_create(struct verbs_queue *q, struct rd_error *err);
/*
 * Empties the queue and makes it ready again; its flow stays. Needs no privilege. larger: NULL, or
 * a ring that replaces the queue's own, which is freed, and *larger emptied, once nothing can
 * arrive in it.
 */
int verbs_queue_reset(struct verbs_queue *q, struct verbs_ring *larger, struct rd_error *err);
/* Whether its QP is in error. False also where that cannot be read, as of work queues. */
bool verbs_queue_in_error(struct verbs_queue *q);
/*
 * Replaces a queue whose CQ failed, and QP, table and flow with it. Takes the port's lock. Needs
 * CAP_NET_RAW.
 */
int verbs_queue_replace(struct verbs_queue *q, struct rd_error *err);
/* Reads the CQ's completion events. */
void verbs_completion_events_take(struct verbs_queue *q);

int verbs_flow_create(struct verbs_port *port, struct rd_error *err);
/* -1, and port->abandoned is set: the kernel refuses, and only closing the context ends the flow.
 */
int verbs_flow_destroy(struct verbs_port *port, struct rd_error *err);
/* Flow, QP, table, work queues, CQs: whatever of them exists, in that order. */
void verbs_queues_destroy(struct verbs_port *port);

/* verbs_wq.c: work queues, and the QP that spreads frames among them */

/* A work queue on the CQ, receives posted, ready to receive. */
int verbs_wq_create(struct verbs_queue *q, struct rd_error *err);
int verbs_wq_reset(struct verbs_queue *q, struct verbs_ring *larger, struct rd_error *err);
void verbs_wq_destroy(struct verbs_queue *q);
/* Table and QP over the work queues of all. */
int verbs_spread_create(struct verbs_port *port, struct rd_error *err);
void verbs_spread_destroy(struct verbs_port *port);
/*
 * The number of queues (a power of two, `wanted` at most) that a table takes; 0: the device has no
 * tables. *why says what limits it; static.
 */
unsigned int verbs_spread_most(
	const struct verbs_port *port, unsigned int wanted, const char **why);

/* verbs_plan.c: makes all queues of the port */

/*
 * Makes up to `wanted` queues, tries the flow, and removes that again. On failure the caller calls
 * verbs_queues_close().
 */
int verbs_queues_open(struct verbs_port *port, unsigned int wanted, struct rd_error *err);
/* Undoes it; the queues are freed. Legal at any time. */
void verbs_queues_close(struct verbs_port *port);

/* verbs_events.c */

/* Reads the device's asynchronous events and reports each to the queue that it concerns. Any
 * queue's thread may call it. */
void verbs_events_take(struct verbs_queue *q);
/* Faults that other threads reported become this queue's fault. In the queue's own thread. */
void verbs_events_apply(struct verbs_queue *q);

/* verbs_oversize.c */

/* Notes how many frames were too long: at the first one, and whenever they have doubled. */
void verbs_oversize_report(struct verbs_queue *q);
/* Whether there were so many that a working queue is reset for larger buffers. */
bool verbs_oversize_growing(const struct verbs_queue *q);

/* verbs_repair.c */

/* Brings a queue with a fault back, and notes that frames are missing. -1: the capture ends. */
int verbs_repair(struct verbs_queue *q, struct rd_error *err);
int verbs_fail_removed(const struct verbs_queue *q, struct rd_error *err);
/* The queue is idle: finds out whether it is in error, and lets the buffers grow. */
void verbs_oversize_settle(struct verbs_queue *q);
/* Discards what is in the queue. Before the flow exists. */
int verbs_queue_empty(struct verbs_queue *q, struct rd_error *err);

/* verbs.c */
extern const struct rd_source_ops verbs_ops;

#endif
