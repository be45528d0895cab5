/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes of network links and of their IP addresses, as the kernel reports them (rtnetlink(7)). */
#include "netlink.h"
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <rdmadump/log.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_BYTES 8192

static bool parse_address(const struct nlmsghdr *msg, size_t len, struct rd_link_change *change)
{
	const struct ifaddrmsg *info = (const struct ifaddrmsg *)(msg + 1);

	if (msg->nlmsg_len > len || msg->nlmsg_len < NLMSG_SPACE(sizeof(*info)))
		return false;
	change->kind = RD_LINK_ADDRESS;
	change->ifindex = info->ifa_index;
	return true;
}

bool rd_link_parse(const struct nlmsghdr *msg, size_t len, struct rd_link_change *change)
{
	const struct ifinfomsg *info = (const struct ifinfomsg *)(msg + 1);
	struct nlattr *attr[IFLA_MTU + 1], *mac;

	*change = (struct rd_link_change){0};
	if (len < sizeof(*msg))
		return false;
	if (msg->nlmsg_type == RTM_NEWADDR || msg->nlmsg_type == RTM_DELADDR)
		return parse_address(msg, len, change);
	if (len < NLMSG_SPACE(sizeof(*info)) || msg->nlmsg_len > len ||
		msg->nlmsg_len < NLMSG_SPACE(sizeof(*info)) ||
		(msg->nlmsg_type != RTM_NEWLINK && msg->nlmsg_type != RTM_DELLINK))
		return false;
	/* A bridge reports its ports with messages of its own family. */
	if (info->ifi_family != AF_UNSPEC)
		return false;
	change->kind = msg->nlmsg_type == RTM_DELLINK ? RD_LINK_REMOVED : RD_LINK_STATE;
	change->ifindex = (unsigned int)info->ifi_index;
	change->flags = info->ifi_flags;
	if (nlmsg_parse((struct nlmsghdr *)msg, sizeof(*info), attr, IFLA_MTU, NULL) < 0)
		return false;
	attr_text(attr[IFLA_IFNAME], change->name, sizeof(change->name));
	attr_get(attr[IFLA_MTU], &change->mtu, sizeof(change->mtu));
	mac = attr[IFLA_ADDRESS];
	change->has_mac = mac && nla_len(mac) == sizeof(change->mac) &&
			  attr_get(mac, change->mac, sizeof(change->mac));
	return true;
}

bool rd_links_read(int fd, rd_link_fn *fn, void *ctx)
{
	union {
		struct nlmsghdr align;
		char bytes[MESSAGE_BYTES];
	} buf;
	const struct nlmsghdr *h = &buf.align;
	ssize_t len = recv(fd, &buf, sizeof(buf), MSG_DONTWAIT);

	if (len < 0 && errno == ENOBUFS) {
		rd_log(RD_LOG_WARNING, "the kernel dropped messages about netdevs (its buffer was "
				       "full): changes may be missing");
		return true;
	}
	if (len <= 0)
		return false;
	for (unsigned int left = (unsigned int)len; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
		struct rd_link_change change;

		if (rd_link_parse(h, left, &change))
			fn(ctx, &change);
	}
	return true;
}

int rd_kernel_socket(int protocol, unsigned int groups)
{
	const struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_groups = groups};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int rd_links_open(void)
{
	return rd_kernel_socket(
		NETLINK_ROUTE, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR);
}
