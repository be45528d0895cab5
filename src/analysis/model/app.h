/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The application of a flow: its requests that wait for a reply, and what was measured. */
#pragma once

#include "../apps/apps.h"
#include "state.h"

/* --- samples (samples.c) ---------------------------------------------------------------------- */

/* Durations: each of them while the analysis has budget left, then a histogram. */
struct samples {
	uint64_t n, sum;
	uint64_t *all;
	uint32_t kept, capacity;
	struct hist *rest;
};

#define SAMPLES_ALL (1U << 20) /* that are kept, of all applications */

/* Reduces *budget by what it keeps. False if out of memory. */
bool samples_add(struct samples *s, uint64_t ns, uint32_t *budget);
/* Adds the samples of another one, without a budget: they are in it. False if out of memory. */
bool samples_join(struct samples *to, const struct samples *from);
/* *exact: no percentile is interpolated. False if out of memory. */
bool samples_result(const struct samples *s, struct rd_latency *out, bool *exact);
void samples_free(struct samples *s);

/* --- requests and replies (app.c) ------------------------------------------------------------- */

#define APP_OPEN_MAX	   4096	      /* open requests of a queue */
#define APP_OPEN_ALL	   (1U << 19) /* of all queues */
#define APP_OPERATIONS	   64	      /* of a queue; the last one stands for all others */
#define APP_OPERATIONS_ALL (1U << 18)
#define APP_STATUSES	   16
#define APP_OTHERS	   UINT64_MAX /* the operation of that last one */

struct app_operation {
	uint64_t operation;
	uint64_t requests, replies, open, unanswered, errors, untimed;
	bool waits;
	struct rd_app_data inlined, keyed;
	struct samples latency;
	uint64_t slowest_ns, slowest_frame, slowest_reply_frame;
};

struct app_status {
	uint64_t operation;
	uint32_t code;
	struct rd_incident replies;
};

/* A request without a reply yet. */
struct app_open {
	uint64_t ns, frame;
	uint32_t psn;
	uint8_t operation; /* its index */
	bool server;	   /* sent by the server */
};

/* One connection of an application; both flows have it. */
struct app_queue {
	const struct app *app;
	const struct flow *client; /* NULL: its frames were not captured, or it is not known yet */
	const struct flow *server;
	uint8_t users;	/* flows that have it */
	uint8_t signs;	/* RD_APP_BY_*; bytes: recognized, or a reply matched a request */
	bool restarted; /* the QP has a new connection since the last message */
	uint16_t port;
	struct rd_app_queue queue;
	uint64_t messages, unreadable, misfits, unmatched, not_followed;
	struct bounded open; /* struct app_open, by id and sender */
	struct app_operation *operations;
	uint8_t n_operations;
	struct app_status *statuses;
	uint8_t n_statuses;
	unsigned int n_slowest;
	struct rd_app_slow slowest[RD_APP_SLOWEST]; /* longest first; without names */
};

/* A new connection of its QP begins. */
static inline void app_restart(struct flow *f)
{
	if (f->app == &app_none)
		f->app = NULL;
	else if (f->app && (f == f->app->client || !f->app->client))
		f->app->restarted = true;
}

/* The first packet of a SEND with new data, in a flow whose application is not `app_none`. */
void app_send(struct rd_analysis *a, struct flow *f, const struct item *it);
/* Keeps the longest ones, in a list of RD_APP_SLOWEST. */
void slow_add(struct rd_app_slow *list, unsigned int *n, const struct rd_app_slow *slow);
/* Its connection ended: requests that are open will have no reply. */
void app_close(struct app_queue *q);
/* How certain the application is. False: too little is known to name it. */
bool app_certainty(const struct app_queue *q, enum rd_certainty *certainty);
/* The flow no longer needs it. */
void app_leave(struct flow *f);
/* The same for all flows. */
void apps_free(struct rd_analysis *a);
