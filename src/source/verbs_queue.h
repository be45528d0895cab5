/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One receive queue of the sniffer: its CQ, its work queue or the QP's, its ring, its faults. */
#pragma once

#include "verbs_clock.h"

/* Delays completion events, so that the receiving thread wakes up less often. */

struct verbs_queue;

/* Of one queue. */
struct verbs_gather {
	uint32_t count, period_us; /* the CQ's moderation; count 0: none */
	uint64_t frames;	   /* received since the last completion event */
	uint64_t event_ns;	   /* monotonic time of that event */
	unsigned int early;	   /* consecutive events that moderation should have delayed */
};

/*
 * Sets the moderation of the queue's new CQ (ibv_modify_cq(3)), or timed waits if the device has
 * none; and src.gathers and src.nap_ns accordingly. Without hardware timestamps, frames get the
 * time at which they are polled: then events are not delayed.
 */
void verbs_gather_init(struct verbs_queue *q);

/* After a completion event. If the events are not moderated, the queue changes to timed waits. */
void verbs_gather_event(struct verbs_queue *q);

/* The receive ring: buffers in one memory region, and the work requests that post them. */

struct verbs_ring {
	uint8_t *memory;
	size_t memory_len;
	struct ibv_mr *mr;
	uint32_t buffer_size; /* bytes of one buffer */
	unsigned int n;
	struct ibv_recv_wr *wr; /* wr[i] posts buffer i; wr_id is i */
	struct ibv_sge *sge;
	struct ibv_recv_wr *first, **tail; /* list of taken buffers, to be posted again */
};

/* numa_node: where its memory should be; -1: anywhere. */
int verbs_ring_init(struct verbs_ring *ring, struct ibv_pd *pd, unsigned int n,
	uint32_t buffer_size, int numa_node, struct rd_error *err);
void verbs_ring_fini(struct verbs_ring *ring);
/* Frees the ring and moves *larger to its place; NULL: nothing. No queue may receive into it. */
void verbs_ring_exchange(struct verbs_ring *ring, struct verbs_ring *larger);

/* Posts all buffers to the work queue, without one to the QP; it must be empty. 0 or an errno. */
int verbs_ring_fill(struct verbs_ring *ring, struct ibv_qp *qp, struct ibv_wq *wq);

static inline uint8_t *verbs_ring_buffer(const struct verbs_ring *ring, uint64_t i)
{
	return ring->memory + i * ring->buffer_size;
}

/* Marks buffer i to be posted by the next verbs_ring_post(). */
static inline void verbs_ring_take(struct verbs_ring *ring, uint64_t i)
{
	*ring->tail = &ring->wr[i];
	ring->tail = &ring->wr[i].next;
}

/* Posts the marked buffers in one list. Returns 0 or an errno. */
static inline int verbs_ring_post(struct verbs_ring *ring, struct ibv_qp *qp, struct ibv_wq *wq)
{
	struct ibv_recv_wr *first = ring->first, *bad;

	if (ring->tail == &ring->first)
		return 0;
	*ring->tail = NULL;
	ring->tail = &ring->first;
	return wq ? ibv_post_wq_recv(wq, first, &bad) : ibv_post_recv(qp, first, &bad);
}

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
	unsigned int taken;  /* buffers of the last batch, to be posted again */
	unsigned int events; /* completion events of this CQ */
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
/* The state of q->wq; VERBS_STATE_UNKNOWN unless on mlx5 with DEVX. In verbs_mlx5.c. */
enum verbs_state verbs_wq_state(const struct verbs_queue *q);
/*
 * Replaces a queue whose CQ failed, and with it QP, table and flow. Takes the port's lock. Needs
 * CAP_NET_RAW. Returns 0 or -1.
 */
int verbs_queue_replace(struct verbs_queue *q, struct rd_error *err);
/* Reads the CQ's completion events. */
void verbs_completion_events_take(struct verbs_queue *q);

int verbs_flow_create(struct verbs_port *port, struct rd_error *err);
/* -1 if the kernel refuses; port->abandoned is then set: the flow lives as long as the context. */
int verbs_flow_destroy(struct verbs_port *port, struct rd_error *err);
/* Destroys flow rule, QP, indirection table, work queues and CQs, if they exist, in this order. */
void verbs_queues_destroy(struct verbs_port *port);

/* verbs_wq.c: work queues, and the QP that distributes frames over them */

/* Creates a work queue on the CQ, posts receives, and makes it ready to receive. 0 or -1. */
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

/* Reads the device's asynchronous events, tells the queue of each. From any queue's thread. */
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

/* Repairs a queue with a fault, and notes that frames are missing. 0, or -1: the capture ends. */
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

/* How completions are polled and receives posted: libibverbs, mlx5. */

/* One receive path; chosen when the queue is created. */
struct verbs_path {
	const char *name;
	/*
	 * Returns the number of frames; 0: the CQ is empty or cannot be polled. Error completions
	 * go to verbs_completion_error(). A CQ that cannot be polled sets the queue's fault; frames
	 * read before are delivered.
	 */
	unsigned int (*poll)(struct verbs_queue *q, struct rd_frame *frames, unsigned int max);
	/* Posts the buffers of the last poll() again. Returns 0 or an errno. */
	int (*post)(struct verbs_queue *q);
	int (*arm)(struct verbs_queue *q);
	void (*cleared)(struct verbs_queue *q); /* the queue was reset; NULL: nothing to do */
};

/* The libibverbs path for the queue's CQ. */
const struct verbs_path *verbs_path_libibverbs(const struct verbs_queue *q);

/*
 * Processes an error completion. True: a frame was longer than its buffer (len: its length, 0 if
 * unknown), it was counted, and its entry is to be posted again. Otherwise the first error since
 * the last repair becomes the queue's fault.
 */
bool verbs_completion_error(
	struct verbs_queue *q, enum ibv_wc_status status, uint32_t syndrome, uint32_t len);

/* timestamp: value in the completion; verbs_stamp() converts it to ns. */
static inline void verbs_frame_set(
	struct rd_frame *f, const uint8_t *data, uint32_t len, uint64_t timestamp)
{
	__builtin_prefetch(data);
	f->data = data;
	f->len = f->caplen = len;
	f->ts_ns = timestamp;
	f->flags = 0;
	f->direction = RD_DIR_UNKNOWN;
	f->iface = 0;
}

/* verbs_mlx5.c: the queue's fault where completions come compressed. */
void verbs_fail_compressed(struct verbs_queue *q);
/*
 * verbs_mlx5.c: from now on polls and posts a queue that is ready to receive without libmlx5, and
 * sets its path. False: libmlx5 continues to do so.
 */
bool verbs_mlx5_adopt(struct verbs_queue *q);
void verbs_mlx5_free(struct verbs_queue *q);
