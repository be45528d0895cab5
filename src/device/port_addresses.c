/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses that an RDMA port sends from: those of its netdevs, and its GIDs (sysfs);
 * and the IP addresses of a netdev. */
#include "sysfs.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <rdmadump/info.h>
#include <string.h>

static void add_netdev(struct rd_local *local, const struct rd_netdev *netdev, const char *root)
{
	char text[32], name[IF_NAMESIZE];
	uint8_t mac[6];

	/* It may have been renamed; in a copied tree there is only the name. */
	if (*root || !netdev->ifindex || !if_indextoname(netdev->ifindex, name))
		memcpy(name, netdev->name, sizeof(name));
	if (rd_sysfs_text(text, sizeof(text), "%s/sys/class/net/%s/address", root, name) ||
		rd_hex_bytes(text, 1, mac, sizeof(mac)))
		return;
	rd_local_add_mac(local, mac);
}

static void add_gids(struct rd_local *local, const char *base, unsigned int port)
{
	struct rd_names names;

	if (rd_sysfs_list(&names, "%s/ports/%u/gids", base, port))
		return;
	for (size_t i = 0; i < names.n; i++) {
		char text[48];
		uint8_t gid[16];

		if (rd_sysfs_text(text, sizeof(text), "%s/ports/%u/gids/%s", base, port,
			    names.name[i]) == 0 &&
			rd_hex_bytes(text, 2, gid, sizeof(gid)) == 0)
			rd_local_add_ip(local, gid);
	}
	rd_names_free(&names);
}

void rd_port_addresses(struct rd_local *local, const char *root, const struct rd_device *device,
	const struct rd_port *port)
{
	char base[128];
	uint64_t lid;

	*local = (struct rd_local){.link = port->link, .lid_mask = 0xffff};
	snprintf(base, sizeof(base), "%s/sys/class/infiniband/%s", root, device->name);
	if (port->link == RD_LINK_INFINIBAND) {
		if (rd_sysfs_u64(&lid, "%s/ports/%u/lid", base, port->num) == 0)
			local->lid = (uint16_t)lid;
		if (rd_sysfs_u64(&lid, "%s/ports/%u/lid_mask_count", base, port->num) == 0)
			local->lid_mask = (uint16_t) ~((1U << (lid & 7)) - 1);
		return;
	}
	for (unsigned int i = 0; i < port->n_netdevs; i++)
		add_netdev(local, &port->netdevs[i], root);
	if (!local->n_mac)
		add_gids(local, base, port->num);
}

/* --- IP addresses of a netdev of this machine and network namespace (getifaddrs(3)) ------- */

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
