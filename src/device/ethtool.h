/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The statistics of a netdev's driver, as 'ethtool -S' shows them. */
#ifndef RDMADUMP_DEVICE_ETHTOOL_H
#define RDMADUMP_DEVICE_ETHTOOL_H

#include <rdmadump/counters.h>
#include <rdmadump/device.h>

/*
 * Appends the statistics of counters->netdev; without `all` those that concern RDMA and the wire,
 * and none of single queues. Nothing if there is no driver or it has none. -1 only if out of
 * memory.
 */
int rd_ethtool_load(struct rd_counters *counters, bool all);

#endif
