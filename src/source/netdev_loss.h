/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many frames of a netdev were dropped before they were read, by libpcap's counters. */
#ifndef RDMADUMP_SOURCE_NETDEV_LOSS_H
#define RDMADUMP_SOURCE_NETDEV_LOSS_H

#include <pcap/pcap.h>
#include <rdmadump/source.h>

struct netdev_loss {
	struct pcap_stat last;
	uint64_t passed, dropped; /* ps_recv, ps_drop; 64 bits wide */
	bool has_before;	  /* libpcap reads ps_ifdrop in promiscuous mode only */
	struct rd_growth before;  /* of ps_ifdrop */
	uint64_t before_least;	  /* the same, at least */
};

/*
 * Adds what was counted since the last call; returns what ps_drop counted. name: of the netdev when
 * it was opened.
 */
uint64_t netdev_loss_count(
	struct netdev_loss *l, pcap_t *pcap, const char *name, unsigned int ifindex);
/* Sets lost, loss_known and loss. */
void netdev_loss_stats(const struct netdev_loss *l, struct rd_source_stats *stats);

#endif
