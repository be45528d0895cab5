/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How completions are polled and receives posted: libibverbs, mlx5, mlx5 striding. */
#ifndef RDMADUMP_SOURCE_VERBS_PATH_H
#define RDMADUMP_SOURCE_VERBS_PATH_H

#include "verbs_queue.h"

/* One path; chosen when the queue is made. */
struct verbs_path {
	const char *name;
	/*
	 * Returns the number of frames; 0: the CQ is empty, or cannot be polled. Error completions
	 * go to verbs_completion_error(); a CQ that cannot be polled sets the queue's fault, and
	 * what was taken before is delivered.
	 */
	unsigned int (*poll)(struct verbs_queue *q, struct rd_frame *frames, unsigned int max);
	/* Posts the buffers of the last poll() again. 0 or an errno. */
	int (*post)(struct verbs_queue *q);
	int (*arm)(struct verbs_queue *q);
	/* Posts everything: the queue was reset or is new. 0 or an errno. NULL: verbs_ring_fill()
	 */
	int (*fill)(struct verbs_queue *q);
	void (*cleared)(struct verbs_queue *q); /* the queue was reset; NULL: nothing to do */
};

/* The path through libibverbs for the queue's CQ. */
const struct verbs_path *verbs_path_libibverbs(const struct verbs_queue *q);

/*
 * An error completion. A frame longer than its buffer is counted (len: its length, 0 if unknown):
 * true, its entry is to be posted again. Of the others, the first one since the last repair
 * becomes the queue's fault.
 */
bool verbs_completion_error(
	struct verbs_queue *q, enum ibv_wc_status status, uint32_t syndrome, uint32_t len);

/* stamp: the completion's timestamp; verbs_stamp() converts it to ns. */
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

/*
 * verbs_mlx5.c: polls and posts a queue that is ready to receive without libmlx5 from now on, and
 * sets its path. False: libmlx5 goes on polling and posting.
 */
bool verbs_mlx5_adopt(struct verbs_queue *q);
void verbs_mlx5_free(struct verbs_queue *q);

/* verbs_striding_mlx5.c */

/* Whether the device has striding receive queues; *why not (static). */
bool verbs_striding_offered(const struct verbs_port *port, const char **why);
/* Sets port->strides by the device's limits and port->n_wanted. False: too many buffers. */
bool verbs_striding_layout(struct verbs_port *port);
int verbs_striding_ring(struct verbs_queue *q, struct rd_error *err);
/* The work queue on the CQ, and its path. */
int verbs_striding_create(struct verbs_queue *q, struct rd_error *err);

#endif
