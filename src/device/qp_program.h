/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BPF programs that report QPs, as instructions. */
#ifndef RDMADUMP_DEVICE_QP_PROGRAM_H
#define RDMADUMP_DEVICE_QP_PROGRAM_H

#include "qp_layout.h"
#include <linux/bpf.h>
#include <rdmadump/qp_event.h>
#include <stddef.h>

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

#endif
