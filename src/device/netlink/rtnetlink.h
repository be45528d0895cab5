/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kernel multicast sockets without libnl, and the parser of rtnetlink(7) messages. */
#ifndef RDMADUMP_DEVICE_NETLINK_RTNETLINK_H
#define RDMADUMP_DEVICE_NETLINK_RTNETLINK_H

#include <linux/netlink.h>
#include <rdmadump/event.h>

/* A socket that does not block and receives the groups' messages; -1 with errno. close(). */
int rd_kernel_socket(int protocol, unsigned int groups);

/* Parses one message of at most `len` bytes; false if it is neither about a link nor an address. */
bool rd_link_parse(const struct nlmsghdr *msg, size_t len, struct rd_link_change *change);

#endif
