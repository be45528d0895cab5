/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files of the verbs source share. */
#ifndef RDMADUMP_SOURCE_VERBS_QUEUE_H
#define RDMADUMP_SOURCE_VERBS_QUEUE_H

#include "verbs_clock.h"
#include "verbs_ring.h"
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdmadump/source.h>
#include <stdatomic.h>

#define FRAME_MAX 65536

/* What a queue can suffer; NULL text: healthy. */
struct queue_fault {
	const char *text;
	bool too_long;	 /* a frame did not fit its buffer */
	bool cq_failed;	 /* a reset of the queue does not help */
	bool unpollable; /* nothing more is to be had of the CQ */
};

/* The same as an asynchronous event tells it, perhaps to another queue's thread. */
enum { FAULT_CQ = 1 << 0, FAULT_QUEUE = 1 << 1, FAULT_REQUEST = 1 << 2, FAULT_ACCESS = 1 << 3 };

struct verbs;

/* How completions are polled and receives posted; chosen when the queue is made. */
struct verbs_path {
	const char *name;
	/*
	 * Number of frames. Error completions go to verbs_completion_error(), and a CQ that cannot
	 * be polled to the fault: what was taken before it is delivered.
	 */
	unsigned int (*poll)(struct verbs *v, struct rd_frame *frames, unsigned int max);
	/* Posts the buffers of the last poll() again. 0 or an errno. */
	int (*post)(struct verbs *v);
	int (*arm)(struct verbs *v);
	/* Posts everything; the queue was reset or is new. 0 or an errno. NULL: verbs_ring_fill()
	 */
	int (*fill)(struct verbs *v);
	void (*cleared)(struct verbs *v); /* the queue was reset; NULL: nothing to do */
};

/* How the frames of a port come to us. */
struct verbs_plan {
	unsigned int queues; /* work queues behind a QP that spreads; 0: the QP's own */
	bool striding;
};

/* Of a striding queue. */
struct verbs_strides {
	uint32_t log_bytes; /* of a stride */
	uint32_t log_count; /* of the strides of a buffer */
	unsigned int buffers;
};

struct verbs_mlx5;

/*
 * One receive queue. The first one, the lead, also owns what all queues of the port share, and the
 * others look there for it.
 */
struct verbs {
	struct rd_source src;
	const struct verbs_path *path;
	struct verbs_mlx5 *mlx5; /* NULL: everything goes through libibverbs */
	bool plain;		 /* and is to */
	bool striding;
	const struct rd_device *device;
	const char *sysroot;
	unsigned int port_num;
	enum rd_link link;
	struct verbs_clock own_clock, *clock; /* `clock` is the lead's */
	struct verbs_stamps stamps;
	struct ibv_context *ctx; /* the lead's */
	struct ibv_pd *pd;	 /* the lead's */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex; /* the same, where the provider has extended CQs; else NULL */
	struct ibv_wq *wq;	 /* NULL: the QP's own receive queue */
	struct verbs_ring ring;
	unsigned int taken;   /* buffers of the last batch, to be posted again */
	unsigned int events;  /* completion events of this CQ */
	unsigned int unacked; /* completion events read and not acknowledged */
	bool armed;
	struct queue_fault fault;
	atomic_uint pending_faults; /* FAULT_... */
	unsigned int repairs;	    /* in a row */
	_Atomic uint64_t gaps;
	int wake_fd; /* an eventfd, readable when another queue's thread told something; -1: none */
	struct verbs *lead;
	unsigned int index; /* among the port's queues; 0: the lead */

	/* Of the lead. */
	struct verbs *queue[RD_QUEUES_MAX];
	unsigned int n_queues;
	enum rd_rx_mode rx_mode;
	enum rd_stamp_type stamp_type;
	/* Of each queue: frames that are to fit, and buffers that a queue of one for each may have.
	 */
	unsigned int n_wanted, n_buffers;
	uint32_t frame_room; /* bytes of a buffer for it */
	struct verbs_strides strides;
	int cqe_most;	      /* of one CQ */
	bool ipv6;	      /* the port's own addresses are */
	char spread_note[80]; /* why there are fewer queues than wanted; "": there are not */
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
	struct ibv_flow *flow;
	int epoll_fd;	      /* asynchronous events and wake_fd, as one; -1: not needed */
	pthread_mutex_t lock; /* of flow, QP and table, and of reading asynchronous events */
	atomic_bool stopped, removed;
	struct rd_loss loss; /* since start(); of the thread that calls start, stop and stats */
	char name[RD_NAME_MAX + 8], description[200], hardware[400];
};

/* verbs_advice.c: what to do where an object is refused; static. */
enum verbs_object { VERBS_MEMORY, VERBS_CQ, VERBS_QUEUE, VERBS_FLOW };
const char *verbs_advice(enum verbs_object object, int errnum);
/* Whether the limit of locked memory can be why. */
bool verbs_limited(int errnum);

/* verbs_queue.c: CQ, QP and flow */

/* Fails with "VERB on DEVICE:PORT: reason; todo". */
int verbs_fail(const struct verbs *v, struct rd_error *err, int errnum, const char *todo,
	const char *verb);
/* The same of an object, with verbs_advice(). */
int verbs_fail_object(const struct verbs *v, struct rd_error *err, int errnum,
	enum verbs_object object, const char *verb);
int verbs_cq_create(struct verbs *v, struct rd_error *err);
void verbs_cq_destroy(struct verbs *v);
/* QP on the CQ, receives posted, ready to receive; no flow yet. */
int verbs_queue_create(struct verbs *v, struct rd_error *err);
/* Empties a failed queue and makes it ready again; its flow stays. Needs no privilege. */
int verbs_queue_reset(struct verbs *v, struct rd_error *err);
/* Makes a queue anew whose CQ failed, and what stands on it, flow included. */
int verbs_queue_replace(struct verbs *v, struct rd_error *err);
int verbs_flow_create(struct verbs *lead, struct rd_error *err);
void verbs_flow_destroy(struct verbs *lead);
/* Flow, QP, table, work queues, CQs: whatever of them exists, in that order. */
void verbs_queues_destroy(struct verbs *lead);
void verbs_ack_events(struct verbs *v);

/* verbs_wq.c: work queues, and the QP that spreads frames among them */

/* A work queue on the CQ, receives posted, ready to receive. */
int verbs_wq_create(struct verbs *v, struct rd_error *err);
int verbs_wq_reset(struct verbs *v, struct rd_error *err);
void verbs_wq_destroy(struct verbs *v);
/* Table and QP over the work queues of all. */
int verbs_spread_create(struct verbs *lead, struct rd_error *err);
void verbs_spread_destroy(struct verbs *lead);
/* How many queues (a power of two, as wanted at most) a table takes; 0, and why: no table. */
unsigned int verbs_spread_most(const struct verbs *lead, unsigned int wanted, const char **why);

/* verbs_open.c. Nothing on the epoll path may block. */
int verbs_nonblocking(const struct verbs *v, int fd, struct rd_error *err);

/* verbs_queues.c: all that the queues are made of; context and PD stay. */
int verbs_queues_open(struct verbs *lead, unsigned int wanted, struct rd_error *err);
void verbs_queues_close(struct verbs *lead);
/* How many there are, and why not as many as wanted. */
void verbs_queues_tell(struct verbs *lead, unsigned int wanted);

/* verbs_events.c */

/* Asynchronous events of the device, to the queues that they concern. By any queue's thread. */
void verbs_events_take(struct verbs *v);
/* Faults that other threads reported become this queue's fault. */
void verbs_events_apply(struct verbs *v);

/* verbs.c */
extern const struct rd_source_ops verbs_ops, verbs_follower_ops;
extern const struct verbs_path verbs_path_plain, verbs_path_extended;
void verbs_completion_error(struct verbs *v, enum ibv_wc_status status, uint32_t syndrome);

/* stamp: as the completion has it; verbs_stamp() makes ns of it. */
static inline void verbs_frame_set(
	struct rd_frame *f, const uint8_t *data, uint32_t len, uint64_t stamp)
{
	__builtin_prefetch(data);
	f->data = data;
	f->len = f->caplen = len;
	f->ts_ns = stamp;
	f->flags = 0;
	f->direction = RD_DIR_UNKNOWN;
	f->iface = 0;
}

/* verbs_mlx5.c: takes a queue that is ready away from libmlx5; false: it stays with it. */
bool verbs_mlx5_take_over(struct verbs *v);
void verbs_mlx5_free(struct verbs *v);

/* verbs_striding_mlx5.c */

/* Whether the device has striding receive queues; *why not. */
bool verbs_striding_offered(const struct verbs *v, const char **why);
/* Sets lead->strides by the device's limits and lead->n_wanted. False: too many of them. */
bool verbs_striding_layout(struct verbs *lead);
int verbs_striding_ring(struct verbs *v, struct rd_error *err);
/* The work queue on the CQ, and its path. */
int verbs_striding_create(struct verbs *v, struct rd_error *err);

#endif
