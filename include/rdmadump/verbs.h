/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Verbs devices: opening one by its name, and the asynchronous events that it may report. */
#pragma once

#include <rdmadump/error.h>
#include <stdbool.h>

/* From libibverbs; only the files that use it include its header. */
struct ibv_context;
struct ibv_cq;
struct ibv_device;
struct ibv_qp;

/* Opens a device in the provider's mode; NULL: it is not the provider's, or cannot be opened. */
typedef struct ibv_context *rd_verbs_open_fn(struct ibv_device *device, void *ctx);

/*
 * Opens the device `name`: by provider_open, or if that is NULL or returns NULL, by
 * ibv_open_device(). Returns 0 and *context, which the caller closes with ibv_close_device(); or -1
 * with RD_CLASS_DEVICE: libibverbs does not know the device (errnum 0), or the kernel refuses it.
 */
int rd_verbs_device_open(struct ibv_context **context, const char *name,
	rd_verbs_open_fn *provider_open, void *ctx, struct rd_error *err);

/*
 * NULL: libmlx5 can be used, which is loaded at run time, as libibverbs loads it. Else what stands
 * behind "no libmlx5": nothing, or which function an old one lacks.
 */
const char *rd_libmlx5_lacks(void);

/* Makes a descriptor non-blocking, so that reading events from it never waits. 0 or an errno. */
int rd_fd_nonblocking(int fd);

/*
 * How many of the next completions libibverbs may read, up to `most`: on mlx5 those that the device
 * has written, on others `most`. It would take an array of compressed completions, which nobody
 * requested, for completions, and may crash: `compressed` is set at the first one, and the queue
 * cannot be read any further. From then on libmlx5 leaves it to the caller to discard the
 * completions of a queue that is reset.
 */
unsigned int rd_verbs_readable(struct ibv_cq *cq, unsigned int most, bool *compressed);

/*
 * Discards the completions of a QP that was reset. libibverbs counts them as receives of the QP, so
 * it is reset once more. NULL: a work queue, for which the transition to RDY does that.
 */
void rd_verbs_discard(struct ibv_cq *cq, struct ibv_qp *qp);

/* An asynchronous event of a port or of the whole device. Strings are static. */
struct rd_async_event {
	unsigned int type; /* enum ibv_event_type */
	bool of_port;	   /* element.port_num has the port */
	const char *kind;  /* for programs: "port_active" */
	const char *text;  /* for users: "port up" */
};

/*
 * The description of an event of this enum ibv_event_type; NULL: it concerns a queue or another
 * object, not the port or device.
 */
const struct rd_async_event *rd_async_event(unsigned int type);
