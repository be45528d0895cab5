/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up libpcap's counters of dropped frames, and notices when one of them is not known. */
#include "netdev.h"
#include <string.h>

static bool has_name(unsigned int ifindex, const char *name)
{
	char now[IF_NAMESIZE];

	return if_indextoname(ifindex, now) && !strcmp(now, name);
}

/*
 * libpcap reads the adapter's drops in sysfs, by the name that the netdev had when it was opened,
 * and adds each difference to a sum of 32 bits. The sum falls when the driver resets its counters,
 * and when that name has gone: a file that is absent counts as 0. Of a renamed netdev, or of one
 * that was renamed back, the counters are not its own; nothing more is added.
 */
static void count_before(
	struct netdev_loss *l, unsigned int sum, const char *name, unsigned int ifindex)
{
	const unsigned int more = sum - l->last.ps_ifdrop;

	if (!l->has_before || !rd_growth_known(&l->before))
		return;
	if (!has_name(ifindex, name))
		l->before = (struct rd_growth){.verdict = RD_GROWTH_MISSING};
	else if (more > INT32_MAX)
		l->before = (struct rd_growth){.verdict = RD_GROWTH_RESET};
	else
		l->before_least = l->before.amount += more;
}

/*
 * libpcap sums the kernel's counters, which each reading resets, in 32 bits. ps_recv counts frames
 * that passed the filter, including ps_drop; both include frames that are still in the ring.
 */
uint64_t netdev_loss_count(
	struct netdev_loss *l, pcap_t *pcap, const char *name, unsigned int ifindex)
{
	struct pcap_stat now;
	uint64_t dropped;

	if (pcap_stats(pcap, &now) < 0)
		return 0;
	dropped = now.ps_drop - l->last.ps_drop;
	l->passed += now.ps_recv - l->last.ps_recv;
	l->dropped += dropped;
	count_before(l, now.ps_ifdrop, name, ifindex);
	l->last = now;
	return dropped;
}

void netdev_loss_stats(const struct netdev_loss *l, struct rd_source_stats *stats)
{
	stats->lost = l->dropped + l->before_least;
	stats->loss_known = rd_growth_known(&l->before);
	stats->loss[0].name = "ps_drop";
	stats->loss[0].frames.amount = stats->loss[0].least = l->dropped;
	stats->n_loss = 1;
	if (!l->has_before)
		return;
	stats->loss[1].name = "ps_ifdrop";
	stats->loss[1].frames = l->before;
	stats->loss[1].least = l->before_least;
	stats->n_loss = 2;
}
