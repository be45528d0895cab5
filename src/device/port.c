/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One port: state, rate, GIDs and netdevs (kernel: Documentation/ABI/stable/sysfs-class-infiniband,
 * Documentation/ABI/testing/sysfs-class-net; rxe as observed on Linux 6.1).
 */
#include "discovery.h"

#include "sysfs.h"
#include <ctype.h>
#include <rdmadump/memory.h>
#include <rdmadump/names.h>
#include <rdmadump/units.h>
#include <stdlib.h>
#include <string.h>

RD_NAMES(rd_gid_type_name, "IB", [RD_GID_ROCE_V1] = "RoCE v1", [RD_GID_ROCE_V2] = "RoCE v2")

/* "4: ACTIVE" -> "active", "5: LinkUp" -> "link up". */
static void format_state(char *buf, size_t size, const char *text)
{
	const char *from = strchr(text, ':');
	size_t n = 0;

	from = from ? from + 1 : text;
	from += strspn(from, " ");
	for (const char *p = from; *p && n + 2 < size; p++) {
		if (p > from && isupper((unsigned char)p[0]) && islower((unsigned char)p[-1]))
			buf[n++] = ' ';
		buf[n++] = (char)tolower((unsigned char)*p);
	}
	buf[n] = '\0';
}

/* "2.5 Gb/sec (1X SDR)"; by hand, because strtod() would follow the locale's decimal sign. */
static void read_rate(struct rd_port *port, const char *text)
{
	size_t whole = strspn(text, "0123456789"), part = 0;
	uint64_t gbit, unit = 1000000000;

	if (text[whole] == '.')
		part = strspn(text + whole + 1, "0123456789");
	if (!whole || whole > 6 || part > 3 ||
		strncmp(text + whole + (part ? part + 1 : 0), " Gb/sec", 7))
		return;
	gbit = strtoull(text, NULL, 10);
	port->speed = gbit * unit;
	for (size_t i = 0; i < part; i++) {
		unit /= 10;
		port->speed += (uint64_t)(text[whole + 1 + i] - '0') * unit;
	}
	if (port->speed)
		snprintf(port->rate, sizeof(port->rate), "%.*s Gb/s",
			(int)(whole + (part ? part + 1 : 0)), text);
}

/* The "4X EDR" of "100 Gb/sec (4X EDR)". */
static void read_lanes(struct rd_port *port, const char *text)
{
	const char *from = strchr(text, '('), *to = from ? strchr(from, ')') : NULL;

	if (to)
		snprintf(port->lanes, sizeof(port->lanes), "%.*s", (int)(to - from - 1), from + 1);
}

static void load_link(struct rd_port *port, const char *base)
{
	char text[64];

	rd_sysfs_text(text, sizeof(text), "%s/ports/%u/link_layer", base, port->num);
	if (!strcmp(text, "Ethernet"))
		port->link = RD_LINK_ETHERNET;
	else if (!strcmp(text, "InfiniBand"))
		port->link = RD_LINK_INFINIBAND;
	rd_sysfs_text(text, sizeof(text), "%s/ports/%u/state", base, port->num);
	format_state(port->state, sizeof(port->state), text);
	rd_sysfs_text(text, sizeof(text), "%s/ports/%u/phys_state", base, port->num);
	format_state(port->phys_state, sizeof(port->phys_state), text);
	rd_sysfs_text(text, sizeof(text), "%s/ports/%u/rate", base, port->num);
	read_rate(port, text);
	read_lanes(port, text);
	port->lid = rd_sysfs_u32("%s/ports/%u/lid", base, port->num);
	port->sm_lid = rd_sysfs_u32("%s/ports/%u/sm_lid", base, port->num);
}

/*
 * An unset GID is zero, or has the InfiniBand subnet prefix and a GUID of zero. (An iWARP GID
 * begins with the MAC address and ends with zeros.)
 */
static bool gid_is_set(const struct rd_port *port, const uint8_t raw[16])
{
	static const uint8_t zero[16];

	return port->link == RD_LINK_INFINIBAND ? memcmp(raw + 8, zero, 8) != 0
						: memcmp(raw, zero, 16) != 0;
}

static bool is_netdev_name(const char *name)
{
	return *name && strlen(name) < IF_NAMESIZE && !strpbrk(name, "/: ?") && strcmp(name, ".") &&
	       strcmp(name, "..");
}

static void load_gid_attrs(struct rd_gid *gid, const struct rd_port *port, const char *base)
{
	char text[32];

	rd_sysfs_text(
		text, sizeof(text), "%s/ports/%u/gid_attrs/types/%u", base, port->num, gid->index);
	if (!strcmp(text, "RoCE v2"))
		gid->type = RD_GID_ROCE_V2;
	else if (!strcmp(text, "IB/RoCE v1") && port->link == RD_LINK_ETHERNET)
		gid->type = RD_GID_ROCE_V1;
	rd_sysfs_text(
		text, sizeof(text), "%s/ports/%u/gid_attrs/ndevs/%u", base, port->num, gid->index);
	if (is_netdev_name(text))
		memcpy(gid->ndev, text, strlen(text) + 1);
}

/* 0 also if this entry is not set; -1 if out of memory. */
static int load_gid(struct rd_port *port, const char *base, const char *place)
{
	char text[48];
	uint8_t raw[16];
	uint64_t index;
	struct rd_gid *gid;

	if (rd_parse_u64(place, 0, UINT16_MAX, &index) ||
		rd_sysfs_text(text, sizeof(text), "%s/ports/%u/gids/%s", base, port->num, place) ||
		rd_hex_bytes(text, 2, raw, sizeof(raw)) || !gid_is_set(port, raw))
		return 0;
	gid = rd_append(&port->gids, port->n_gids, sizeof(*gid));
	if (!gid)
		return -1;
	port->n_gids++;
	memcpy(gid->raw, raw, sizeof(raw));
	gid->index = (unsigned int)index;
	load_gid_attrs(gid, port, base);
	return 0;
}

/* A table may have 1024 entries with only three set: of unset entries nothing else is read. */
static int load_gids(struct rd_port *port, const char *base)
{
	struct rd_names names;
	int ret = 0;

	if (rd_sysfs_list(&names, "%s/ports/%u/gids", base, port->num))
		return 0;
	for (size_t i = 0; i < names.n && !ret; i++)
		ret = load_gid(port, base, names.name[i]);
	rd_names_free(&names);
	return ret;
}

/* Netdevs that sit on a port's netdev, and (by their port's name) representors of a VF or SF. */
static bool is_other_netdev(const char *root, const char *name)
{
	static const char *const kinds[] = {
		"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "bridge"};
	char text[32];

	rd_sysfs_uevent(text, sizeof(text), "DEVTYPE", "%s/sys/class/net/%s/uevent", root, name);
	if (RD_ANY(kind, kinds, RD_COUNT(kinds), !strcmp(text, *kind)))
		return true;
	/* Only a P_Key interface of IPoIB has this file. */
	if (rd_sysfs_exists("%s/sys/class/net/%s/parent", root, name))
		return true;
	rd_sysfs_text(text, sizeof(text), "%s/sys/class/net/%s/phys_port_name", root, name);
	return *text && !(text[0] == 'p' && isdigit((unsigned char)text[1]));
}

static void add_netdev(struct rd_port *port, const char *root, const char *name)
{
	struct rd_netdev *netdev;
	char text[32];

	if (!is_netdev_name(name) || port->n_netdevs == RD_NETDEV_MAX)
		return;
	for (unsigned int i = 0; i < port->n_netdevs; i++)
		if (!strcmp(port->netdevs[i].name, name))
			return;
	if (is_other_netdev(root, name))
		return;
	netdev = &port->netdevs[port->n_netdevs++];
	rd_text_clean(netdev->name, sizeof(netdev->name), name);
	rd_sysfs_text(text, sizeof(text), "%s/sys/class/net/%s/address", root, name);
	if (rd_hex_bytes(text, 1, netdev->mac, sizeof(netdev->mac)))
		memset(netdev->mac, 0, sizeof(netdev->mac));
	netdev->mtu = rd_sysfs_u32("%s/sys/class/net/%s/mtu", root, name);
	netdev->ifindex = rd_sysfs_u32("%s/sys/class/net/%s/ifindex", root, name);
	rd_sysfs_text(netdev->operstate, sizeof(netdev->operstate), "%s/sys/class/net/%s/operstate",
		root, name);
	rd_sysfs_text(netdev->slaves, sizeof(netdev->slaves), "%s/sys/class/net/%s/bonding/slaves",
		root, name);
}

/*
 * Of a function with several ports, the netdev of port N has dev_port N-1 (before Linux 3.15 only
 * dev_id had the number). A function with one port may have the card's second port.
 */
static bool is_of_port(const struct rd_port *port, const struct rd_device *device, const char *base,
	const char *name)
{
	uint32_t dev_port = rd_sysfs_u32("%s/device/net/%s/dev_port", base, name);

	if (!dev_port)
		dev_port = rd_sysfs_u32("%s/device/net/%s/dev_id", base, name);
	return device->n_ports <= 1 || dev_port + 1 == port->num;
}

/* siw on older kernels does not report its netdev, but an iWARP GID begins with the MAC address. */
static void add_netdev_by_mac(struct rd_port *port, const char *root)
{
	struct rd_names names;

	if (!port->n_gids || rd_sysfs_list(&names, "%s/sys/class/net", root))
		return;
	for (size_t i = 0; i < names.n; i++) {
		char text[32];
		uint8_t mac[6];

		rd_sysfs_text(
			text, sizeof(text), "%s/sys/class/net/%s/address", root, names.name[i]);
		if (!rd_hex_bytes(text, 1, mac, sizeof(mac)) &&
			!memcmp(mac, port->gids[0].raw, sizeof(mac)))
			add_netdev(port, root, names.name[i]);
	}
	rd_names_free(&names);
}

static void load_netdevs(
	struct rd_port *port, const struct rd_device *device, const char *root, const char *base)
{
	struct rd_names names;
	char text[32];

	/* First the netdevs that GIDs name: of a bond, the bond itself, whose name users know. */
	for (unsigned int i = 0; i < port->n_gids; i++)
		add_netdev(port, root, port->gids[i].ndev);
	if (*device->pci && !rd_sysfs_list(&names, "%s/device/net", base)) {
		for (size_t i = 0; i < names.n; i++)
			if (is_of_port(port, device, base, names.name[i]))
				add_netdev(port, root, names.name[i]);
		rd_names_free(&names);
	}
	if (!rd_sysfs_text(text, sizeof(text), "%s/parent", base))
		add_netdev(port, root, text);
	if (!port->n_netdevs && !strcmp(device->node_type, "RNIC"))
		add_netdev_by_mac(port, root);
}

int rd_port_load(struct rd_port *port, const struct rd_device *device, const char *root,
	const char *base, bool glance)
{
	load_link(port, base);
	/* The first entry is the port's own netdev; for a bond it is the bond. */
	if (glance ? load_gid(port, base, "0") : load_gids(port, base))
		return -1;
	load_netdevs(port, device, root, base);
	return 0;
}
