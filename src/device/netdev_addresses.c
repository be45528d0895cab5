/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* IP addresses of a netdev of this machine and network namespace (getifaddrs(3)). */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <rdmadump/info.h>
#include <stdio.h>
#include <string.h>

static const void *address_of(const struct sockaddr *sa)
{
	if (sa && sa->sa_family == AF_INET)
		return &((const struct sockaddr_in *)(const void *)sa)->sin_addr;
	if (sa && sa->sa_family == AF_INET6)
		return &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
	return NULL;
}

void rd_netdev_addresses(const char *netdev, char *buf, size_t size)
{
	struct ifaddrs *list = NULL;
	size_t used = 0;

	buf[0] = '\0';
	if (getifaddrs(&list))
		return;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		const void *address = address_of(i->ifa_addr);
		char text[INET6_ADDRSTRLEN];

		if (!address || strcmp(i->ifa_name, netdev) ||
			!inet_ntop(i->ifa_addr->sa_family, address, text, sizeof(text)) ||
			used + strlen(text) + 3 > size)
			continue;
		used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "", text);
	}
	freeifaddrs(list);
}
