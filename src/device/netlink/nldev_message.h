/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What all messages of RDMA netlink have in common. */
#ifndef RDMADUMP_DEVICE_NETLINK_NLDEV_MESSAGE_H
#define RDMADUMP_DEVICE_NETLINK_NLDEV_MESSAGE_H

#include "attr.h"
#include <netlink/msg.h>
#include <rdma/rdma_netlink.h>

#define ATTRS 128 /* number of attributes that are parsed, with space for newer ones */

/*
 * The attributes of a message with this command, by number; -1 for any other, or if it is
 * malformed.
 */
static inline int parse(
	const struct nlmsghdr *msg, size_t len, int command, struct nlattr *attr[ATTRS])
{
	/* libnl trusts the length in the message, which must be checked before. */
	if (len < NLMSG_HDRLEN || msg->nlmsg_len < NLMSG_HDRLEN || msg->nlmsg_len > len ||
		msg->nlmsg_type != RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command))
		return -1;
	return nlmsg_parse((struct nlmsghdr *)msg, 0, attr, ATTRS - 1, NULL) < 0 ? -1 : 0;
}

static inline bool get_u32(const struct nlattr *a, uint32_t *value)
{
	return attr_get(a, value, sizeof(*value));
}

static inline struct nl_msg *message(int command, int flags)
{
	return nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), NLM_F_REQUEST | flags);
}

#endif
