/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loss counters of a single QP; hw_counters in sysfs count for all QPs of the function. RDMA
 * netlink binds them to a QP.
 */
#ifndef RDMADUMP_OWN_COUNTER_H
#define RDMADUMP_OWN_COUNTER_H

#include <rdmadump/device.h>
#include <rdmadump/growth.h>

struct rd_own_counter;

/*
 * Binds a set of counters to a QP of this process, which must be in state RESET: mlx5 programs the
 * set of a raw packet QP at the transition to INIT only. The QP keeps the set until it is
 * destroyed; a reset does not change that. Needs CAP_NET_ADMIN. On success *own is for
 * rd_own_counter_close(). -1 with RD_CLASS_DEVICE and what to do: no privilege, or the kernel, the
 * driver or the firmware cannot do it.
 */
int rd_own_counter_bind(struct rd_own_counter **own, const struct rd_device *device,
	unsigned int port, uint32_t qpn, struct rd_error *err);
/*
 * Like rd_loss_read(), of this set: the kernel has no cache of it. n = 0 if it cannot be read.
 * Needs no privilege; may take as long as a firmware command. One call at a time.
 */
void rd_own_counter_read(const struct rd_own_counter *own, struct rd_loss_counters *counters);
/* Before or after the QP is destroyed; the kernel frees the set with the QP. NULL is legal. */
void rd_own_counter_close(struct rd_own_counter *own);

#endif
