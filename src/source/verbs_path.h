/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How completions are polled and receives posted: libibverbs, mlx5. */
#ifndef RDMADUMP_SOURCE_VERBS_PATH_H
#define RDMADUMP_SOURCE_VERBS_PATH_H

#include "verbs_queue.h"

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

#endif
