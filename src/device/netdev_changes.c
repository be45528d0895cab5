/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares rtnetlink's messages about a netdev with its last known state. */
#include "netdev_changes.h"
#include "sysfs.h"
#include <net/if.h>
#include <rdmadump/notation.h>
#include <stdio.h>
#include <string.h>

struct report {
	unsigned int port;
	port_change_fn *fn;
	void *ctx;
};

static void report(const struct report *to, const struct rd_netdev *netdev, const char *kind,
	const char *previous, const char *text)
{
	struct rd_event e = {.origin = "rtnetlink", .port = to->port, .kind = kind};

	memcpy(e.netdev, netdev->name, sizeof(e.netdev));
	snprintf(e.previous, sizeof(e.previous), "%s", previous);
	snprintf(e.text, sizeof(e.text), "%s", text);
	to->fn(to->ctx, &e);
}

static void take_name(const struct report *to, struct rd_netdev *netdev, const char *name)
{
	char was[IF_NAMESIZE], text[64];

	if (!*name || !strcmp(netdev->name, name))
		return;
	memcpy(was, netdev->name, sizeof(was));
	memcpy(netdev->name, name, sizeof(netdev->name));
	snprintf(text, sizeof(text), "netdev renamed from %s", was);
	report(to, netdev, "netdev_renamed", was, text);
}

static void take_mac(const struct report *to, struct rd_netdev *netdev, const uint8_t mac[6])
{
	char was[RD_MAC_LEN], is[RD_MAC_LEN], text[96];

	if (!memcmp(netdev->mac, mac, sizeof(netdev->mac)))
		return;
	rd_mac_text(was, netdev->mac);
	rd_mac_text(is, mac);
	memcpy(netdev->mac, mac, sizeof(netdev->mac));
	snprintf(text, sizeof(text), "MAC address changed from %s to %s", was, is);
	report(to, netdev, "netdev_mac_changed", was, text);
}

static void take_mtu(const struct report *to, struct rd_netdev *netdev, uint32_t mtu)
{
	char was[16], text[64];

	if (!mtu || netdev->mtu == mtu)
		return;
	snprintf(was, sizeof(was), "%u", netdev->mtu);
	snprintf(text, sizeof(text), "MTU changed from %s to %u", was, mtu);
	netdev->mtu = mtu;
	report(to, netdev, "netdev_mtu_changed", was, text);
}

static void take_state(const struct report *to, struct rd_netdev *netdev, unsigned int flags)
{
	bool was = !strcmp(netdev->operstate, "up") || !strcmp(netdev->operstate, "unknown");
	bool is = flags & IFF_RUNNING, known = *netdev->operstate;

	snprintf(netdev->operstate, sizeof(netdev->operstate), "%s", is ? "up" : "down");
	if (known && was != is)
		report(to, netdev, is ? "netdev_up" : "netdev_down", "",
			is ? "netdev up" : "netdev down");
}

static void remove_netdev(const struct report *to, struct rd_port *port, unsigned int i)
{
	struct rd_netdev *netdev = &port->netdevs[i];

	report(to, netdev, "netdev_removed", "", "netdev removed");
	memmove(netdev, netdev + 1, (port->n_netdevs - i - 1) * sizeof(*netdev));
	port->netdevs[--port->n_netdevs] = (struct rd_netdev){0};
}

/* A VLAN's addresses become GIDs of the port below. A removed netdev may have been above any port.
 */
static bool is_above(unsigned int ifindex, const struct rd_port *port)
{
	char name[IF_NAMESIZE];

	if (!if_indextoname(ifindex, name))
		return true;
	for (unsigned int i = 0; i < port->n_netdevs; i++)
		if (rd_sysfs_exists("/sys/class/net/%s/lower_%s", name, port->netdevs[i].name))
			return true;
	return false;
}

bool netdev_changes(
	struct rd_port *port, const struct rd_link_change *change, port_change_fn *fn, void *ctx)
{
	const struct report to = {port->num, fn, ctx};

	for (unsigned int i = 0; i < port->n_netdevs; i++) {
		struct rd_netdev *netdev = &port->netdevs[i];

		if (netdev->ifindex != change->ifindex)
			continue;
		if (change->kind == RD_LINK_REMOVED) {
			remove_netdev(&to, port, i);
		} else if (change->kind == RD_LINK_STATE) {
			take_name(&to, netdev, change->name);
			if (change->has_mac)
				take_mac(&to, netdev, change->mac);
			take_mtu(&to, netdev, change->mtu);
			take_state(&to, netdev, change->flags);
		}
		return true;
	}
	return change->kind != RD_LINK_STATE && is_above(change->ifindex, port);
}
