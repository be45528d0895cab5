/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The QPs that processes create, connect and destroy, reported by the kernel when it happens:
 * kprobes on rdma_restrack_add(), ib_modify_qp_with_udata() and ib_destroy_qp_user() of ib_core,
 * with a BPF program each.
 */
#pragma once

#include <rdmadump/clock.h>
#include <rdmadump/resource.h>

enum rd_qp_event_kind { RD_QP_CREATED, RD_QP_CONNECTED, RD_QP_DESTROYED, RD_QP_EVENT_KINDS };

/* All text is printable ASCII. */
struct rd_qp_event {
	enum rd_qp_event_kind kind;
	uint64_t time_ns;	  /* of the clock that was given */
	uint64_t key;		  /* the same from creating to destroying a QP */
	char device[RD_NAME_MAX]; /* as it was called then */
	uint32_t port;		  /* 1-based; 0: not bound yet */
	uint32_t lqpn;
	/* RD_QP_CONNECTED: the remote QP, as it was asked for: the device may have refused it. */
	uint32_t rqpn;
	/* Who created it; else 0 and "", as another process may do the rest. */
	uint32_t pid;	   /* the process, also if one of its threads did */
	uint64_t start_ns; /* when it started, since boot */
	char comm[RD_COMM_MAX];
};

/* An open source of events. */
struct rd_qp_events;

/*
 * From now on the kernel reports, with times of this clock. NULL (RD_CLASS_DEVICE): this build or
 * kernel cannot, or the process may not (EPERM, EACCES): it needs CAP_BPF and CAP_PERFMON here, not
 * later.
 */
struct rd_qp_events *rd_qp_events_open(const struct rd_clock *clock, struct rd_error *err);
/* To wait with, until it is readable. */
int rd_qp_events_fd(const struct rd_qp_events *e);
/*
 * Passes on what was reported since the last call, in the order of time as far as one QP is
 * concerned. Needs no privileges; one thread at a time.
 */
void rd_qp_events_read(struct rd_qp_events *e,
	void (*take)(void *ctx, const struct rd_qp_event *event), void *ctx);
/* Events that were lost so far because the buffer was full. */
uint64_t rd_qp_events_lost(const struct rd_qp_events *e);
/* Accepts NULL. */
void rd_qp_events_close(struct rd_qp_events *e);

/* The library that this build has for it, "" if none. */
const char *rd_qp_events_library(void);
