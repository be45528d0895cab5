/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the BPF programs write for one event, in the byte order of the machine. */
#ifndef RDMADUMP_DEVICE_QP_RECORD_H
#define RDMADUMP_DEVICE_QP_RECORD_H

#include <rdmadump/qp_event.h>

#define RECORD_DEVICE 64 /* IB_DEVICE_NAME_MAX */
#define RECORD_COMM   16 /* TASK_COMM_LEN */

/* Without padding: the programs write every byte of it. */
struct qp_record {
	uint64_t time_ns;  /* of the monotonic clock */
	uint64_t start_ns; /* of the process, since boot */
	uint64_t key;	   /* the address of the kernel's entry: unique while the QP exists */
	uint32_t kind, lqpn, port, pid;
	uint32_t rqpn, unused;
	char device[RECORD_DEVICE], comm[RECORD_COMM];
};

/*
 * The event of a record of `size` bytes; monotonic time 0 was at `epoch_ns` of Unix time. False if
 * it is not an event, or is about a QP that has no number on the wire.
 */
bool qp_record_event(const void *record, size_t size, uint64_t epoch_ns, struct rd_qp_event *event);

#endif
