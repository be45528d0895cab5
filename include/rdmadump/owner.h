/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The owners of the QPs of a device: processes as /proc describes them (proc(5)) and their QPs,
 * sampled while a capture runs.
 */
#pragma once

#include <rdmadump/job.h>
#include <rdmadump/qp_event.h>

#define RD_CGROUP_MAX	 512
#define RD_CONTAINER_MAX 65 /* 64 hexadecimal digits */
#define RD_POD_MAX	 37 /* a UUID */
/* The module that makes QPs for others: the owner of those whose user is not known. */
#define RD_CM_MODULE "rdma_cm"

/* All text is printable ASCII; "" is unknown. */
struct rd_process {
	uint32_t pid;	      /* 0: the kernel; comm is then the module */
	uint64_t start_ticks; /* since boot; with the pid it identifies the process */
	uint64_t start_ns;    /* of the reader's clock; as exact as the ticks of 10 ms */
	char comm[RD_COMM_MAX];
	uint16_t service_port; /* port of a kernel module's connections; 0: unknown */
	char cgroup[RD_CGROUP_MAX];
	char container[RD_CONTAINER_MAX];
	char pod[RD_POD_MAX]; /* UID in Kubernetes */
	bool has_environ;     /* it could be read */
	char job[RD_JOB_KEYS]
		[RD_JOB_VALUE_MAX]; /* values from the environment at the process' start */
};

/*
 * Reads `root`/proc/`pid`. `pid` may be a thread's, as the kernel names the thread that created a
 * QP: *p is its process. -1 if there is no such process, or it ended meanwhile; what the caller may
 * not read is left empty. `clock` gives the time of its start. From any thread.
 */
int rd_process_read(
	const char *root, uint32_t pid, const struct rd_clock *clock, struct rd_process *p);
/*
 * The process that created a QP, as `root`/proc describes it. Where that has ended, or another one
 * has its pid: only what the event says. `event` is RD_QP_CREATED. From any thread.
 */
void rd_process_of_event(const char *root, const struct rd_qp_event *event,
	const struct rd_clock *clock, struct rd_process *p);
/* Ticks since boot when a process or thread started; -1: there is none. */
int rd_process_start(const char *root, uint32_t pid, uint64_t *ticks);
/* Now, in the same unit. */
uint64_t rd_boot_ticks(void);

/* A QP and how long it was seen. */
struct rd_owned_qp {
	uint32_t lqpn, rqpn; /* rqpn 0: it was not connected */
	/* Of creating or the first sample, and of destroying or the last one; of the same clock. */
	uint64_t first_ns, last_ns;
};

/* The QPs of one port and their owners, collected from samples. Used by one thread at a time. */
struct rd_owners;

/*
 * All times are those of this clock, which is copied: they do not step with the system clock. NULL:
 * out of memory. rd_owners_free() accepts NULL.
 */
struct rd_owners *rd_owners_new(const struct rd_clock *clock);
void rd_owners_free(struct rd_owners *o);
/*
 * Adds the QPs of the port, and those that have none yet, of a list that was begun at `ticks` since
 * boot and `ns` of the clock; processes are below `root`, and cost one small file each. A process
 * that started later has reused the pid and is not the owner.
 */
void rd_owners_add(struct rd_owners *o, const char *root, unsigned int port,
	const struct rd_resources *list, uint64_t ticks, uint64_t ns);

/*
 * A QP was created, by `who`, or connected or destroyed (who is NULL then): between samples, too.
 * One that is bound to another port is ignored.
 */
void rd_owners_event(struct rd_owners *o, unsigned int port, const struct rd_qp_event *event,
	const struct rd_process *who);
/* Events are reported to rd_owners_event(); `lost` of them were not: the buffer was full. */
void rd_owners_watched(struct rd_owners *o, uint64_t lost);

/*
 * QPs that ended before this time, and processes that have no other, may be forgotten; they are
 * once there are many of them. For what runs for days.
 */
void rd_owners_forget(struct rd_owners *o, uint64_t before_ns);

/*
 * Another reading of the clock that frames have their times from, in nanoseconds, and when that was
 * on CLOCK_MONOTONIC: how far it is from the clock of QPs.
 */
void rd_owners_frame_clock(struct rd_owners *o, uint64_t frame_ns, uint64_t monotonic_ns);

/* Now, by the clock of QPs. */
uint64_t rd_owners_now(const struct rd_owners *o);
/* What the list of owners is worth. */
struct rd_owners_worth {
	uint32_t samples;
	uint64_t since_ns,
		interval_ns; /* the first sample; the longest time from one to the next */
	bool watched;	     /* not only samples */
	uint64_t lost;	     /* events that did not fit, earlier or into the list of QPs */
	/* How far the clocks of QPs and of frames may be apart, at most, if that is known. */
	bool clock_known;
	uint64_t clock_error_ns;
};
struct rd_owners_worth rd_owners_worth(const struct rd_owners *o);
/* The owner after this one, or the first; NULL: there is none; *n_qps: how many QPs it has. */
const struct rd_process *rd_owners_next(
	const struct rd_owners *o, const struct rd_process *after, size_t *n_qps);
/* Copies its QPs: room for n_qps. */
void rd_owners_qps(const struct rd_process *who, struct rd_owned_qp *qps);
