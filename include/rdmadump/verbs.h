/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Verbs devices: opening one by its name, and the asynchronous events that it may report. */
#ifndef RDMADUMP_VERBS_H
#define RDMADUMP_VERBS_H

#include <infiniband/verbs.h>
#include <rdmadump/error.h>
#include <stdbool.h>

/* Opens a device in the provider's own mode; NULL: it is not the provider's, or cannot be opened.
 */
typedef struct ibv_context *rd_verbs_open_fn(struct ibv_device *device, void *ctx);

/*
 * Opens the device `name`: by provider_open if that is given and returns a context, else by
 * ibv_open_device(). 0, and *context, which the caller closes with ibv_close_device(); or -1 with
 * RD_CLASS_DEVICE: libibverbs does not know the device (errnum 0), or the kernel refuses it.
 */
int rd_verbs_device_open(struct ibv_context **context, const char *name,
	rd_verbs_open_fn *provider_open, void *ctx, struct rd_error *err);

/* Makes reads of asynchronous events and completion events non-blocking. 0, or an errno. */
int rd_fd_nonblocking(int fd);

/* An asynchronous event of a port or of the whole device. Strings are static. */
struct rd_async_event {
	enum ibv_event_type type;
	bool of_port;	  /* element.port_num says which port */
	const char *kind; /* "port_active": for programs */
	const char *text; /* "port up": for people */
};

/* The row of an event; NULL: it concerns a queue or an object, not the port or the device. */
const struct rd_async_event *rd_async_event(enum ibv_event_type type);

#endif
