/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests to the kernel on a netlink socket (netlink(7)), and their replies; by libnl-3. */
#ifndef RDMADUMP_DEVICE_NETLINK_H
#define RDMADUMP_DEVICE_NETLINK_H

#include <linux/netlink.h>
#include <rdmadump/error.h>
#include <stdbool.h>
#include <stddef.h>

struct nl_msg;
struct nl_sock;

/* One whole message of `len` bytes, header included. Above 0: no further messages are wanted. */
typedef int rd_netlink_fn(const struct nlmsghdr *msg, size_t len, void *ctx);

/* `protocol` is NETLINK_RDMA, NETLINK_GENERIC ... To be freed with nl_socket_free(). */
int rd_netlink_open(struct nl_sock **nl, int protocol, struct rd_error *err);

/*
 * Sends `msg`, which is consumed, and calls `fn` for each reply until the kernel reports the end.
 * -1 with the kernel's error, or if `fn` wants no more. Waits 5 s at most.
 */
int rd_netlink_request(
	struct nl_sock *nl, struct nl_msg *msg, rd_netlink_fn *fn, void *ctx, struct rd_error *err);

/* Joins a multicast group: the descriptor becomes readable when a message arrives. */
int rd_netlink_join(struct nl_sock *nl, unsigned int group);
/* Calls `fn` for each message that has arrived. Does not block. */
void rd_netlink_take(struct nl_sock *nl, rd_netlink_fn *fn, void *ctx);

#endif
