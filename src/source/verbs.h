/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files of the verbs source share. */
#ifndef RDMADUMP_SOURCE_VERBS_H
#define RDMADUMP_SOURCE_VERBS_H

#include "verbs_clock.h"
#include "verbs_ring.h"
#include <infiniband/verbs.h>
#include <rdmadump/source.h>

#define FRAME_MAX 65536

/* What a queue can suffer; NULL text: healthy. */
struct ailment {
	const char *text;
	bool too_long; /* a frame did not fit its buffer */
	bool queues;   /* the CQ failed too: a reset of the QP does not help */
};

struct verbs;

/* How completions are polled and receives posted; chosen when the queue is made. */
struct verbs_path {
	const char *name;
	/* Frames, or -1 when the CQ cannot be polled. Error completions go to
	 * verbs_completion_error(). */
	int (*poll)(struct verbs *v, struct rd_frame *frames, unsigned int max);
	/* Posts the buffers of the last poll() again. 0 or an errno. */
	int (*post)(struct verbs *v);
	int (*arm)(struct verbs *v);
	void (*cleared)(struct verbs *v); /* the QP was reset; NULL: nothing to do */
};

struct verbs_mlx5;

struct verbs {
	struct rd_source src;
	const struct verbs_path *path;
	struct verbs_mlx5 *mlx5; /* NULL: everything goes through libibverbs */
	bool plain;		 /* and is to */
	const struct rd_device *device;
	const char *sysroot;
	unsigned int port_num;
	enum rd_link link;
	struct verbs_clock own_clock, *clock; /* `clock` is shared by a device's queues */
	struct verbs_stamps stamps;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex; /* the same, where the provider has extended CQs; else NULL */
	struct ibv_qp *qp;
	struct ibv_flow *flow;
	struct verbs_ring ring;
	unsigned int taken;   /* buffers of the last batch, to be posted again */
	unsigned int events;  /* completion events of this CQ */
	unsigned int unacked; /* completion events read and not acknowledged */
	bool armed, stopped, removed;
	struct ailment ailment;
	unsigned int repairs; /* in a row */
	uint64_t gaps;
	struct rd_loss_counters loss_before, loss_after;
	char name[RD_NAME_MAX + 8], description[200], hardware[400];
};

/* verbs_open.c. The caller closes *ctx. */
int verbs_device_open(struct ibv_context **ctx, const char *name, struct rd_error *err);

/* verbs_queue.c: CQ, QP and flow */

/* Fails with "VERB on DEVICE:PORT: reason; todo". */
int verbs_fail(const struct verbs *v, struct rd_error *err, int errnum, const char *todo,
	const char *verb);
/* CQ and QP, receives posted, ready to receive; no flow yet. Undoes what it did when it fails. */
int verbs_queue_create(struct verbs *v, struct rd_error *err);
/* Empties a failed QP and makes it ready again; its flow stays. Needs no privilege. */
int verbs_queue_reset(struct verbs *v, struct rd_error *err);
/* Flow, QP, CQ: whatever of them exists. */
void verbs_queue_destroy(struct verbs *v);
int verbs_flow_create(struct verbs *v, struct rd_error *err);
void verbs_flow_destroy(struct verbs *v);
void verbs_ack_events(struct verbs *v);

/* verbs.c */
extern const struct rd_source_ops verbs_ops;
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

#endif
