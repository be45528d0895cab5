/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An error of the queue pair, as modify_qp(3) makes it, and what captures do then. */
#include "recover.h"
#include <rdmadump/clock.h>
#include <stdio.h>
#include <time.h>

#define FLUSH_MS 200 /* wait for the flushed receives */

static void drain_flushed(struct sniffer *s)
{
	const struct timespec step = {.tv_nsec = 1000000};
	uint64_t end = rd_monotonic_ns() + FLUSH_MS * 1000000ULL, flushed = s->flushed;

	while (s->flushed - flushed < s->shape.buffers && rd_monotonic_ns() < end)
		if (!sniffer_poll(s, NULL, NULL))
			nanosleep(&step, NULL);
}

void recover(struct sniffer *s, struct recovery *done)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	uint64_t start, flushed = s->flushed;

	*done = (struct recovery){.step = "qp_err"};
	done->errnum = ibv_modify_qp(s->qp, &attr, IBV_QP_STATE);
	if (done->errnum)
		return;
	drain_flushed(s);
	done->flushed = s->flushed - flushed;
	start = rd_monotonic_ns();
	done->errnum = sniffer_restart(s);
	done->us = (rd_monotonic_ns() - start) / 1000;
	snprintf(done->step, sizeof(done->step), "%s",
		s->reached == STEP_QP ? "qp_reset" : sniffer_step_name(s->reached));
}
