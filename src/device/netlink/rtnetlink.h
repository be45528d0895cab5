/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages of the kernel without libnl: the multicast socket, and the parser of links. */
#ifndef RDMADUMP_DEVICE_NETLINK_RTNETLINK_H
#define RDMADUMP_DEVICE_NETLINK_RTNETLINK_H

#include <linux/netlink.h>
#include <rdmadump/event.h>

/* A socket that does not block and receives the groups' messages; -1 with errno. */
int rd_kernel_socket(int protocol, unsigned int groups);

/* Parses one rtnetlink message of at most `len` bytes; false if it does not concern a link. */
bool rd_link_parse(const struct nlmsghdr *msg, size_t len, struct rd_link_state *state);

#endif
