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
 * The program at the beginning of rdma_restrack_add(), which gets the entry of a QP or of something
 * else; of ib_modify_qp_with_udata(), which gets a QP, attributes and which of them are set; or of
 * ib_destroy_qp_user(), which gets a QP. `ring` is the descriptor of the ring buffer, `lost` of an
 * array of one number that counts what finds no room there. -1 where this processor's registers are
 * not known here.
 */
int qp_program_make(struct qp_program *p, const struct qp_layout *l, enum rd_qp_event_kind kind,
	int ring, int lost);

#endif
