/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Offsets, in the running kernel, of the fields that the BPF programs read. */
#ifndef RDMADUMP_DEVICE_QP_LAYOUT_H
#define RDMADUMP_DEVICE_QP_LAYOUT_H

#include <rdmadump/error.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
