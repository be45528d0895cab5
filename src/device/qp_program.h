/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BPF programs that report QPs, as instructions. */
#pragma once

#include <linux/bpf.h>
#include <rdmadump/qp_event.h>

/* What the BPF programs write for one event, in the byte order of the machine. */

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

/* Offsets, in the running kernel, of the fields that the BPF programs read. */

/* Offsets in bytes, and one value. */
struct qp_layout {
	uint32_t res_type, res_user;		     /* struct rdma_restrack_entry */
	uint32_t qp_res, qp_num, qp_port, qp_device; /* struct ib_qp */
	uint32_t attr_dest;			     /* struct ib_qp_attr */
	uint32_t device_name;			     /* struct ib_device */
	uint32_t task_leader, task_start, task_comm; /* struct task_struct */
	uint32_t type_qp;			     /* RDMA_RESTRACK_QP */
};

/* Whether there is BTF of ib_core: its own, or the kernel's if it is built in. `root`: "". */
bool qp_layout_known(const char *root);
/*
 * Reads the kernel's BTF, which needs no privilege. -1 (RD_CLASS_DEVICE) if there is none of
 * ib_core, or one member is not as the programs expect it.
 */
int qp_layout_read(struct qp_layout *l, const char *root, struct rd_error *err);
struct btf;
/* The same from this BTF, which must be verified: no structure contains itself. */
int qp_layout_find(struct qp_layout *l, const struct btf *btf, struct rd_error *err);

#define QP_PROGRAM_MAX 160

struct qp_program {
	struct bpf_insn insn[QP_PROGRAM_MAX];
	size_t n;
};

/*
 * The program for the entry of rdma_restrack_add(), whose argument is the entry of a QP or of
 * another object; of ib_modify_qp_with_udata(), whose arguments are a QP, attributes and the mask
 * of those that are set; or of ib_destroy_qp_user(), whose argument is a QP. `ring` is the
 * descriptor of the ring buffer, `lost` of an array of one number that counts records for which it
 * has no room. -1 if this architecture's registers are not known.
 */
int qp_program_make(struct qp_program *p, const struct qp_layout *l, enum rd_qp_event_kind kind,
	int ring, int lost);
