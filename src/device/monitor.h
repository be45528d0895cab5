/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Messages of the kernel on devices and netdevs, turned into events; monitor.c listens. */
#ifndef RDMADUMP_DEVICE_MONITOR_H
#define RDMADUMP_DEVICE_MONITOR_H

#include <linux/netlink.h>
#include <rdmadump/event.h>

/*
 * One kobject uevent of `len` bytes ("add@/devices/...", then KEY=VALUE, each ended by NUL) on an
 * RDMA device; false if it is about something else.
 */
bool rd_uevent_parse(const char *bytes, size_t len, struct rd_event *event);

struct rd_link_state {
	unsigned int ifindex;
	bool up; /* IFF_RUNNING: has carrier and is administratively up */
	bool removed;
	char name[IF_NAMESIZE];
};
/* One rtnetlink message; false if it is no link's. */
bool rd_link_parse(const struct nlmsghdr *msg, size_t len, struct rd_link_state *state);

#endif
