/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes the steps of the system clock out of the kernel's timestamps. */
#include "netdev.h"

#define STEP_NS 1000000U    /* less is an error of reading two clocks */
#define WAIT_NS 1000000000U /* frames from before a step are read within this time after it */

void netdev_clock_start(struct netdev_clock *c)
{
	rd_clock_set(&c->host);
	c->epoch_ns = c->former_ns = c->host.epoch_ns;
	c->step_ns = 0;
	netdev_clock_look(c);
}

void netdev_clock_epoch(struct netdev_clock *c, uint64_t epoch_ns, uint64_t monotonic_ns)
{
	uint64_t by = epoch_ns - c->epoch_ns;

	if (by < STEP_NS || -by < STEP_NS)
		return;
	c->former_ns = c->epoch_ns;
	c->epoch_ns = epoch_ns;
	c->step_ns = monotonic_ns;
}

void netdev_clock_look(struct netdev_clock *c)
{
	struct rd_clock now;

	if (rd_clock_set(&now))
		netdev_clock_epoch(c, now.epoch_ns, rd_monotonic_ns());
}

/* How long a frame waited, plus the clocks' error, so that none waited for less than 0. */
static uint64_t waited(uint64_t stamp_ns, uint64_t epoch_ns, uint64_t monotonic_ns)
{
	return monotonic_ns + STEP_NS - (stamp_ns - epoch_ns);
}

/*
 * A frame may have been received before the step, and then has the former difference. The wrong one
 * of the two gives a time in the future (as unsigned, the longest wait), or a wait that is longer
 * by the step.
 */
uint64_t netdev_clock_ns(const struct netdev_clock *c, uint64_t stamp_ns, uint64_t monotonic_ns)
{
	uint64_t epoch = c->epoch_ns;

	if (c->step_ns && monotonic_ns - c->step_ns < WAIT_NS &&
		waited(stamp_ns, c->former_ns, monotonic_ns) <
			waited(stamp_ns, epoch, monotonic_ns))
		epoch = c->former_ns;
	return stamp_ns - epoch + c->host.epoch_ns;
}
