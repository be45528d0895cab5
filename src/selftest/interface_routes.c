/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The addresses and routes that the kernel removes when a link goes down: rtnetlink(7), and IPv6
 * addresses (Linux' ip-sysctl).
 */
#include "../device/netlink/netlink.h"
#include "../device/sysfs.h"
#include "config.h"
#include "interface.h"
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#ifdef HAVE_LIBNL
#include <netlink/msg.h>
#endif

struct routes {
	unsigned int ifindex, n;
};

#ifdef HAVE_LIBNL
/* The kernel restores its own routes itself, and a router advertisement restores the router's. */
static bool comes_back(unsigned char protocol)
{
	return protocol == RTPROT_KERNEL || protocol == RTPROT_RA;
}

static int count(const struct nlmsghdr *msg, size_t len, void *ctx)
{
	struct routes *routes = ctx;
	struct rtmsg rt;
	size_t at = NLMSG_LENGTH(sizeof(rt));

	if (msg->nlmsg_type != RTM_NEWROUTE || len < at)
		return 0;
	memcpy(&rt, (const uint8_t *)msg + NLMSG_HDRLEN, sizeof(rt));
	if (comes_back(rt.rtm_protocol) || rt.rtm_type != RTN_UNICAST)
		return 0;
	while (at + RTA_LENGTH(0) <= len) {
		struct rtattr a;
		unsigned int index;

		memcpy(&a, (const uint8_t *)msg + at, sizeof(a));
		if (a.rta_len < RTA_LENGTH(0) || at + a.rta_len > len)
			return 0;
		if (a.rta_type == RTA_OIF && a.rta_len >= RTA_LENGTH(sizeof(index))) {
			memcpy(&index, (const uint8_t *)msg + at + RTA_LENGTH(0), sizeof(index));
			routes->n += index == routes->ifindex;
		}
		/* Several next hops: the netdev may be one of them. */
		routes->n += a.rta_type == RTA_MULTIPATH;
		at += RTA_ALIGN(a.rta_len);
	}
	return 0;
}

static int load_routes(struct routes *routes, struct rd_error *err)
{
	struct rtmsg rt = {.rtm_family = AF_UNSPEC};
	struct rd_netlink *nl;
	struct nl_msg *msg;
	int rc = -1;

	if (rd_netlink_open(&nl, NETLINK_ROUTE, err) < 0)
		return -1;
	msg = nlmsg_alloc_simple(RTM_GETROUTE, NLM_F_DUMP);
	if (!msg || nlmsg_append(msg, &rt, sizeof(rt), NLMSG_ALIGNTO) < 0) {
		nlmsg_free(msg);
		rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "no memory for a message");
	} else {
		rc = rd_netlink_request(nl, msg, count, routes, err);
	}
	rd_netlink_close(nl);
	return rc;
}

#else
static int load_routes(struct routes *routes, struct rd_error *err)
{
	(void)routes;
	return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "this build has no libnl");
}
#endif

/* Addresses of a netdev that are neither link-local nor kept. */
static bool has_ipv6(const char *name)
{
	char of[IFNAMSIZ + 1];
	unsigned int scope;
	bool found = false;
	uint64_t kept = 0;
	FILE *f;

	rd_sysfs_u64(&kept, "/proc/sys/net/ipv6/conf/%s/keep_addr_on_down", name);
	f = kept ? NULL : fopen("/proc/net/if_inet6", "re");
	while (f && fscanf(f, "%*32s %*x %*x %x %*x %16s", &scope, of) == 2)
		found |= scope != 0x20 && strcmp(of, name) == 0;
	if (f)
		fclose(f);
	return found;
}

bool interface_would_lose(const char *name, char *why, size_t size)
{
	struct routes routes = {.ifindex = if_nametoindex(name)};
	struct rd_error err;

	if (load_routes(&routes, &err) < 0)
		snprintf(why, size, "routes that it would lose cannot be listed (%s)", err.text);
	else if (routes.n)
		snprintf(why, size, "%s would lose routes (%u); see 'ip route show table all'",
			name, routes.n);
	else if (has_ipv6(name))
		snprintf(why, size,
			"%s would lose IPv6 addresses; 'sysctl "
			"net.ipv6.conf.%s.keep_addr_on_down=1' keeps them",
			name, name);
	else
		return false;
	return true;
}
