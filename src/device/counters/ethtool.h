/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a netdev's driver counts, as 'ethtool -S' shows it. */
#ifndef RDMADUMP_DEVICE_ETHTOOL_H
#define RDMADUMP_DEVICE_ETHTOOL_H

#include <rdmadump/counters.h>

/*
 * Appends the statistics of counters->netdev; without `all` those that concern RDMA and the wire,
 * and none of single queues. No driver, no statistics: nothing. -1 without memory only.
 */
int rd_ethtool_load(struct rd_counters *counters, bool all);

#endif
