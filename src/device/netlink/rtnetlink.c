/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of network links as the kernel reports its changes (rtnetlink(7)). */
#include "rtnetlink.h"
#include "../sysfs.h"
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_BYTES 8192

bool rd_link_parse(const struct nlmsghdr *msg, size_t len, struct rd_link_state *state)
{
	const struct ifinfomsg *info = (const struct ifinfomsg *)(msg + 1);
	const struct rtattr *a;
	unsigned int left;

	*state = (struct rd_link_state){0};
	if (len < NLMSG_SPACE(sizeof(*info)) || msg->nlmsg_len > len ||
		msg->nlmsg_len < NLMSG_SPACE(sizeof(*info)) ||
		(msg->nlmsg_type != RTM_NEWLINK && msg->nlmsg_type != RTM_DELLINK))
		return false;
	/* A bridge reports its ports with messages of its own family. */
	if (info->ifi_family != AF_UNSPEC)
		return false;
	state->ifindex = (unsigned int)info->ifi_index;
	state->flags = info->ifi_flags;
	state->removed = msg->nlmsg_type == RTM_DELLINK;
	a = (const struct rtattr *)((const char *)msg + NLMSG_SPACE(sizeof(*info)));
	left = msg->nlmsg_len - (unsigned int)NLMSG_SPACE(sizeof(*info));
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_IFNAME) {
			char name[IF_NAMESIZE] = "";
			size_t n = RTA_PAYLOAD(a);

			memcpy(name, RTA_DATA(a), n < sizeof(name) ? n : sizeof(name) - 1);
			rd_text_clean(state->name, sizeof(state->name), name);
		}
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

	if (len <= 0)
		return false;
	for (unsigned int left = (unsigned int)len; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
		struct rd_link_state link;

		if (rd_link_parse(h, left, &link))
			fn(ctx, &link);
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
	return rd_kernel_socket(NETLINK_ROUTE, RTMGRP_LINK);
}
