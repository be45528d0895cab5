/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sniffer created step by step through libibverbs alone, so that each step's errno and duration
 * are known and no workaround of the capture code hides what the device does.
 */
#pragma once

#include "selftest.h"
#include <infiniband/verbs.h>

enum sniffer_step {
	STEP_CONTEXT,
	STEP_PD,
	STEP_MR,
	STEP_CQ,
	STEP_QP,
	STEP_INIT, /* the QP to INIT, and receives posted */
	STEP_RTR,
	STEP_FLOW,
	STEPS
};

/* The receive queue. Zero: the usual number and size of buffers, no timestamps. */
struct sniffer_shape {
	uint32_t buffers, buffer_size;
	uint64_t timestamps; /* IBV_WC_EX_WITH_COMPLETION_TIMESTAMP..., 0: none */
};

struct sniffer {
	struct ibv_context *ctx;
	bool borrowed; /* the context is another sniffer's */
	bool stuck;    /* the flow could not be destroyed: closing the context frees all */
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex; /* the same one, if its completions have timestamps */
	struct ibv_qp *qp;
	struct ibv_flow *flow;
	uint8_t *memory;
	struct sniffer_shape shape;
	uint8_t port;
	bool ib;	    /* an InfiniBand port */
	bool forbidden;	    /* no flow: the kernel would fail (rd_device.old_switchdev) */
	uint64_t timestamp; /* raw, of the frame that is being looked at */
	bool compressed;    /* the device writes compressed completions: nothing more is polled */
	uint64_t frames;    /* frames received without error */
	uint64_t errors;    /* completions with an error, and polls that failed */
	uint32_t last_status;
	struct {
		uint32_t status, vendor, byte_len;
	} first_error;	   /* status 0: there was none */
	uint64_t flushed;  /* of the errors: flushed receives */
	uint64_t too_long; /* of the errors: frames longer than their buffers */
	struct {
		int errnum; /* 0: it worked, or was not tried */
		uint64_t ns;
	} step[STEPS];
	enum sniffer_step reached; /* the step that failed, or STEP_FLOW if none did */
};

/* "pd", "qp" ...: static. */
const char *sniffer_step_name(enum sniffer_step step);

/*
 * Creates everything except the flow, on the tested port, in `ctx` or, if that is NULL, in a new
 * context. `shape` NULL: the usual one. Returns 0 or the errno of the step `reached`.
 * sniffer_close() in any case.
 */
int sniffer_open(struct sniffer *s, const struct rd_selftest *st, struct ibv_context *ctx,
	const struct sniffer_shape *shape);
/* The same with its flow. */
int sniffer_start(struct sniffer *s, const struct rd_selftest *st, struct ibv_context *ctx,
	const struct sniffer_shape *shape);
/* The same: 0, or -1 with the result set to failed. */
int sniffer_begin(struct sniffer *s, const struct rd_selftest *st, struct rd_probe_result *r,
	const struct sniffer_shape *shape);
/* Creates or destroys the flow. 0 or an errno, with the duration in step[STEP_FLOW].ns. */
int sniffer_flow_create(struct sniffer *s);
int sniffer_flow_destroy(struct sniffer *s);
/* Called with each frame. */
typedef void sniffer_frame_fn(void *ctx, const uint8_t *data, uint32_t len);
/* Polls once, posts the buffers again. `frame` may be NULL. Returns the number of completions. */
unsigned int sniffer_poll(struct sniffer *s, sniffer_frame_fn *frame, void *ctx);
/* Polls until the queue is empty, or a ring's worth of frames was taken. */
unsigned int sniffer_drain(struct sniffer *s, sniffer_frame_fn *frame, void *ctx);
/* Destroys all objects, in an order in which no frame can arrive at a destroyed object. */
void sniffer_close(struct sniffer *s);

struct recovery {
	char step[16]; /* the one that failed; "flow": none did */
	int errnum;    /* 0: it receives again */
	uint64_t flushed, us;
};

/* Puts the queue pair in error, as modify_qp(3) does, and makes it receive again. */
void recover(struct sniffer *s, struct recovery *done);

/* cqes_mlx5.c: the memory of the completion queue; NULL if it is no mlx5 device. Borrowed. */
const void *sniffer_cqes(struct sniffer *s, size_t *n);
