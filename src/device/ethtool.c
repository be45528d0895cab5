/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The statistics of a netdev's driver: include/uapi/linux/ethtool.h, ETHTOOL_GSSET_INFO, GSTRINGS,
 * GSTATS.
 */
#include "info_parts.h"
#include <fnmatch.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <rdmadump/array.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define STATS_MAX 65536 /* more than any driver has; bounds the memory for a reply */

/* The counters about pause frames, loss, ECN marks and the wire, among hundreds. */
static const char *const wanted[] = {"*pause*", "*discard*", "*drop*", "*ecn*", "*cnp*", "*roce*",
	"*rdma*", "*_phy", "*crc*", "*out_of_buffer*", "*fec*", "*pci*", "module_*", "*_prio[0-9]*",
	"*_marked*", "*link_down*"};
/* "rx12_xdp_drop", "tx_queue_3_drops", "[4]: rx_discards", "ch0_..." are included in the sums of
 * other counters. */
static const char *const of_queues[] = {
	"[rt]x[0-9]*", "[rt]x_queue_[0-9]*", "ch[0-9]*", "*\\[[0-9]*\\]*", "*queue*[0-9]*", "xdp*"};

static bool matches(const char *name, const char *const *patterns, size_t n)
{
	return RD_ANY(p, patterns, n, !fnmatch(*p, name, 0));
}

static bool is_wanted(const char *name)
{
	return matches(name, wanted, RD_COUNT(wanted)) &&
	       !matches(name, of_queues, RD_COUNT(of_queues));
}

static int ask(int fd, const char *netdev, void *command)
{
	struct ifreq request = {0};

	memcpy(request.ifr_name, netdev, strnlen(netdev, IF_NAMESIZE - 1));
	request.ifr_data = command;
	return ioctl(fd, SIOCETHTOOL, &request);
}

static uint32_t count(int fd, const char *netdev)
{
	union {
		struct ethtool_sset_info info;
		uint8_t bytes[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} set = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_STATS}};
	uint32_t n;

	if (ask(fd, netdev, &set) || !set.info.sset_mask)
		return 0;
	memcpy(&n, set.info.data, sizeof(n));
	return n <= STATS_MAX ? n : 0;
}

/* `n` is the capacity: if the driver has more queues by now, it returns the first `n` counters. */
static int add_stats(struct rd_counters *c, const struct ethtool_gstrings *names,
	const struct ethtool_stats *stats, uint32_t n, bool all)
{
	for (uint32_t i = 0; i < n && i < names->len && i < stats->n_stats; i++) {
		char full[sizeof("ethtool/") + ETH_GSTRING_LEN] = "ethtool/";
		char *name = full + strlen(full);

		memcpy(name, names->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		name[ETH_GSTRING_LEN] = '\0';
		if ((all || is_wanted(name)) && rd_counters_want(c, full) &&
			rd_counters_add(c, stats->data[i], "%s", full))
			return -1;
	}
	return 0;
}

int rd_ethtool_load(struct rd_counters *c, bool all)
{
	struct ethtool_gstrings *names = NULL;
	struct ethtool_stats *stats = NULL;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret = 0;
	uint32_t n;

	if (fd < 0)
		return 0;
	n = count(fd, c->netdev);
	if (!n)
		goto out;
	names = calloc(1, sizeof(*names) + (size_t)n * ETH_GSTRING_LEN);
	stats = calloc(1, sizeof(*stats) + (size_t)n * sizeof(stats->data[0]));
	ret = names && stats ? 0 : -1;
	if (ret)
		goto out;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	names->len = n;
	stats->cmd = ETHTOOL_GSTATS;
	stats->n_stats = n;
	if (!ask(fd, c->netdev, names) && !ask(fd, c->netdev, stats))
		ret = add_stats(c, names, stats, n, all);
out:
	free(names);
	free(stats);
	close(fd);
	return ret;
}
