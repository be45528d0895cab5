/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects that are open on RDMA devices and their owners: the kernel's list, read by RDMA
 * netlink (include/uapi/rdma/rdma_netlink.h, RDMA_NLDEV_CMD_RES_*; Linux 4.16 and newer).
 */
#pragma once

#include <rdmadump/device.h>

#define RD_COMM_MAX 32
/*
 * More QPs of a device are listed only if the user asks for it: to list a QP, the kernel queries it
 * (nldev.c, fill_res_qp_entry()), which mlx5 does by a firmware command, and applications that
 * connect wait for thousands of them.
 */
#define RD_QPS_LISTED_MAX 4096

struct rd_qp_res {
	char device[RD_NAME_MAX];
	uint32_t port; /* 1-based; 0: the kernel does not say (a QP that is not bound yet) */
	uint32_t lqpn;
	bool has_rqpn; /* connected: rqpn and rq_psn are there */
	uint32_t rqpn;
	bool has_psn;
	uint32_t sq_psn, rq_psn; /* PSNs of the next packets, 24 bits */
	uint8_t type;		 /* enum ib_qp_type: rd_qp_type_name() */
	uint8_t state;		 /* enum ib_qp_state: rd_qp_state_name() */
	/* 0: the kernel owns it, or, if comm is "", a process that has ended or that this PID
	 * namespace does not show. */
	uint32_t pid;
	char comm[RD_COMM_MAX]; /* the process' command, or the kernel module; "" if unknown */
	/* Kernel QPs only: the port that the connection was made to, like 4420; 0: unknown. */
	uint16_t service_port;
};

/* A connection, or a listener, of the connection manager. */
struct rd_cm_id {
	char device[RD_NAME_MAX];
	uint32_t lqpn;		      /* 0: none */
	uint16_t source, destination; /* ports; 0: unknown */
	bool listens;
	char comm[RD_COMM_MAX]; /* the kernel module that uses it; "": a process */
};

/* How many of a kind a device has: "qp", "cq", "mr", "pd", "cm_id", "ctx", "srq". */
struct rd_res_count {
	char device[RD_NAME_MAX];
	char kind[16];
	uint64_t n;
};

struct rd_resources {
	struct rd_qp_res *qps; /* in the kernel's order: by device, then by number */
	size_t n_qps;
	struct rd_cm_id *cm_ids; /* listed only if the connection manager has QPs */
	size_t n_cm_ids;
	struct rd_res_count *counts;
	size_t n_counts; /* for all devices, even if one was requested */
};

/*
 * Reads the QPs and counts of `device`, of all devices if NULL. Only what this network and PID
 * namespace may see; of a device with more than RD_QPS_LISTED_MAX QPs only the counts
 * (rd_resources_unlisted()). Fails (RD_CLASS_DEVICE) where the kernel has no RDMA netlink,
 * or the device is unknown; *r is then empty. rd_resources_free() in any case.
 */
int rd_resources_load(struct rd_resources *r, const char *device, struct rd_error *err);
/*
 * The same with only the QPs, but all of them, and without rd_resources_name(): fast enough to be
 * repeated during a capture.
 */
int rd_resources_qps(struct rd_resources *r, const char *device);
/*
 * Where a list of QPs, which may take a device thousands of commands, is to end early: asked after
 * each answer of the kernel, from the thread that lists; true: the list fails. NULL: never.
 */
void rd_resources_stop_when(bool (*stop)(void *ctx), void *ctx);
bool rd_resources_stopped(void);
/* How many QPs the device has: costs the device nothing. Fails like rd_resources_load(). */
int rd_resources_qp_count(const char *device, uint64_t *n);
/*
 * Fills in processes from `root`/proc: the command, "" where that is not readable, and the pid of
 * the process where the kernel listed that of the thread which created the QP (restrack.c).
 */
void rd_resources_name(const char *root, struct rd_resources *r);
void rd_resources_free(struct rd_resources *r);

/* The count of a kind on a device; false if the kernel does not report it. */
bool rd_resources_count(
	const struct rd_resources *r, const char *device, const char *kind, uint64_t *n);

/* How many QPs rd_resources_load() did not list, since they are too many. */
uint64_t rd_resources_unlisted(const struct rd_resources *r, const char *device);

/* "RC", "UD", "GSI" ...; "RTS", "INIT" ...; "unknown" for numbers that the ABI does not have. */
const char *rd_qp_type_name(unsigned int type);
const char *rd_qp_state_name(unsigned int state);
