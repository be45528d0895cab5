/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One receive queue of the sniffer: its CQ, its work queue or the QP's own, its ring, its faults.
 */
#ifndef RDMADUMP_SOURCE_VERBS_QUEUE_H
#define RDMADUMP_SOURCE_VERBS_QUEUE_H

#include "verbs_clock.h"
#include "verbs_gather.h"
#include "verbs_ring.h"
#include <infiniband/verbs.h>
#include <rdmadump/source.h>
#include <stdatomic.h>

/* Why a queue cannot receive; text NULL: no fault. */
struct queue_fault {
	const char *text;
	const char *todo; /* if set: the user must do this, a repair does not help */
	bool cq_failed;	  /* resetting the queue does not help */
	bool unpollable;  /* the CQ cannot be read further */
};

/* Faults reported by asynchronous events, possibly read by another queue's thread. */
enum { FAULT_CQ = 1 << 0, FAULT_QUEUE = 1 << 1, FAULT_REQUEST = 1 << 2, FAULT_ACCESS = 1 << 3 };

/* Frames that were longer than their buffers. */
struct verbs_oversize {
	_Atomic uint64_t frames;
	uint64_t seen, reported;
	uint32_t longest; /* bytes; 0: unknown */
	bool unsure;	  /* nothing was received since the last one: the queue may be in error */
	bool checked;	  /* ... and its state was read once; src.recheck_ns: when it is again */
	bool grow;	  /* larger buffers are needed */
	unsigned int since_grown;
};

struct verbs_mlx5;
struct verbs_path;
struct verbs_port;

struct verbs_queue {
	struct rd_source src;
	struct verbs_port *port;
	unsigned int index; /* in the port's queues; the first one may use the QP's own queue */
	const struct verbs_path *path;
	struct verbs_mlx5 *mlx5; /* NULL: polled and posted by libibverbs */
	struct verbs_stamps stamps;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex; /* the same CQ, if the provider has extended CQs; else NULL */
	struct ibv_wq *wq;	 /* NULL: the QP's own receive queue */
	struct verbs_ring ring;
	unsigned int taken;   /* buffers of the last batch, to be posted again */
	unsigned int events;  /* completion events of this CQ */
	unsigned int unacked; /* completion events read and not acknowledged */
	bool armed;
	uint64_t
		asleep_frames; /* gather.frames when the thread went to sleep, since it was armed */
	struct verbs_gather gather;
	struct queue_fault fault;
	struct verbs_oversize oversize;
	unsigned int rest; /* frames that may still be received once stopped, if the flow could not
			      be destroyed */
	atomic_uint pending_faults; /* FAULT_... */
	unsigned int addresses;	    /* generation of the port's addresses that src.local has */
	unsigned int repairs;	    /* consecutive repairs */
	_Atomic uint64_t gaps;
	int wake_fd; /* an eventfd, readable when another thread reported a fault; -1: none */
};

/* Creates the CQ, not armed. Returns 0, or -1 without a CQ. */
int verbs_cq_create(struct verbs_queue *q, struct rd_error *err);
/*
 * Creates the QP on the CQ, posts receives, and makes it ready to receive; creates no flow rule.
 * Returns 0 or -1.
 */
int verbs_queue_create(struct verbs_queue *q, struct rd_error *err);
/*
 * Empties the queue and makes it ready again; its flow is kept. Needs no privilege. larger: NULL,
 * or a ring that replaces the queue's own one; the old ring is freed, and *larger emptied, when
 * frames can no longer arrive in it. Returns 0 or -1.
 */
int verbs_queue_reset(struct verbs_queue *q, struct verbs_ring *larger, struct rd_error *err);

/* Whether a queue receives, as far as the device reports it. */
enum verbs_state { VERBS_STATE_UNKNOWN, VERBS_STATE_READY, VERBS_STATE_ERROR };
/* Reads the state of the QP or work queue from the device: a firmware command. */
enum verbs_state verbs_queue_state(const struct verbs_queue *q);
/* The state of q->wq; VERBS_STATE_UNKNOWN unless on mlx5 with DEVX. In verbs_state_mlx5.c. */
enum verbs_state verbs_wq_state(const struct verbs_queue *q);
/*
 * Replaces a queue whose CQ failed, and with it QP, table and flow. Takes the port's lock. Needs
 * CAP_NET_RAW. Returns 0 or -1.
 */
int verbs_queue_replace(struct verbs_queue *q, struct rd_error *err);
/* Reads the CQ's completion events. */
void verbs_completion_events_take(struct verbs_queue *q);

int verbs_flow_create(struct verbs_port *port, struct rd_error *err);
/*
 * -1 if the kernel refuses; port->abandoned is then set: the flow exists until the context is
 * closed.
 */
int verbs_flow_destroy(struct verbs_port *port, struct rd_error *err);
/* Destroys flow rule, QP, indirection table, work queues and CQs, if they exist, in this order. */
void verbs_queues_destroy(struct verbs_port *port);

/* verbs_wq.c: work queues, and the QP that distributes frames over them */

/*
 * Creates a work queue on the CQ, posts receives, and makes it ready to receive. Returns 0 or -1.
 */
int verbs_wq_create(struct verbs_queue *q, struct rd_error *err);
int verbs_wq_reset(struct verbs_queue *q, struct verbs_ring *larger, struct rd_error *err);
void verbs_wq_destroy(struct verbs_queue *q);
/* Creates the table and the QP over all work queues. Returns 0 or -1. */
int verbs_spread_create(struct verbs_port *port, struct rd_error *err);
void verbs_spread_destroy(struct verbs_port *port);
/*
 * The number of queues (a power of two, at most `wanted`) that a table supports; 0: the device has
 * no tables. *why: the limit; static.
 */
unsigned int verbs_spread_most(
	const struct verbs_port *port, unsigned int wanted, const char **why);

/* verbs_plan.c: makes all queues of the port */

/*
 * Creates up to `wanted` queues, tries to create the flow, and removes the flow again. Returns 0 or
 * -1; call verbs_queues_close() in both cases.
 */
int verbs_queues_open(struct verbs_port *port, unsigned int wanted, struct rd_error *err);
/* Destroys and frees the queues. May be called at any time. */
void verbs_queues_close(struct verbs_port *port);

/* verbs_events.c */

/*
 * Reads the device's asynchronous events and reports each to the affected queue. From any queue's
 * thread.
 */
void verbs_events_take(struct verbs_queue *q);
/* Faults reported by other threads become this queue's fault. In the queue's own thread. */
void verbs_events_apply(struct verbs_queue *q);

/* verbs_oversize.c */

/* Logs how many frames were too long: at the first one, and whenever the number has doubled. */
void verbs_oversize_report(struct verbs_queue *q);
/* Whether there were so many that even a working queue is reset to get larger buffers. */
bool verbs_oversize_growing(const struct verbs_queue *q);
/* Frames arrived after those that were too long: the queue still receives. */
void verbs_oversize_over(struct verbs_queue *q);

/* verbs_repair.c */

/*
 * Repairs a queue with a fault, and notes that frames are missing. Returns 0, or -1: the capture
 * ends.
 */
int verbs_repair(struct verbs_queue *q, struct rd_error *err);
int verbs_fail_removed(const struct verbs_queue *q, struct rd_error *err);
/* Whether verbs_oversize_settle() has something to do. */
bool verbs_oversize_pending(const struct verbs_queue *q);
/* Called while the queue is idle: checks whether it is in error, and enlarges the buffers. */
void verbs_oversize_settle(struct verbs_queue *q);
/*
 * Called when nothing was received until src.recheck_ns: checks it again, and resets it once if its
 * state cannot be read.
 */
void verbs_oversize_overdue(struct verbs_queue *q);
/* Discards the frames in the queue. Before the flow exists. Returns 0 or -1. */
int verbs_queue_empty(struct verbs_queue *q, struct rd_error *err);

/* verbs.c */
extern const struct rd_source_ops verbs_ops;

#endif
