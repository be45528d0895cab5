/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requests of one QP over time, for a plot. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * PSNs over time. A PSN is counted from the first one of the plot, without wrapping at 2^24; those
 * after a restart follow the ones before it.
 */
#define RD_PSN_STEPS 512
#define RD_PSN_NAKS  64
#define RD_PSN_NONE  INT64_MIN

struct rd_psn_range {
	int64_t low, high; /* high RD_PSN_NONE: empty */
};

struct rd_psn_step {
	struct rd_psn_range sent, again; /* again: retransmissions */
	int64_t acked; /* the next PSN that the responder expects; or RD_PSN_NONE */
};

struct rd_psn_nak {
	uint64_t ns, frame;
	int64_t psn;
	bool rnr;
};

struct rd_psn_plot {
	uint64_t start_ns, width_ns; /* start of the first step, and length of a step */
	uint32_t psn;		     /* the first one */
	bool late;		     /* it begins after the requester's first packet */
	uint32_t restarts;	     /* times that the QP was reused */
	unsigned int n, n_naks;
	uint64_t naks_in_all; /* naks[] has a regular selection of them */
	struct rd_psn_step steps[RD_PSN_STEPS];
	struct rd_psn_nak naks[RD_PSN_NAKS];
};
