/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads every counter of a port in sysfs, also those that are not in the table (kernel:
 * Documentation/ABI/stable/sysfs-class-infiniband, drivers/infiniband/core/{sysfs,cm}.c).
 */
#include "info_parts.h"
#include "sysfs.h"
#include <errno.h>
#include <limits.h>
#include <rdmadump/clock.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ROOM 320 /* place and a file name */

/* Directories of counters of the port, the device or the netdev, themselves or in numbered ones. */
static const struct place {
	const char *dir, *prefix;
	enum { OF_PORT, OF_DEVICE, OF_NETDEV } of;
	bool nested;
} places[] = {
	{"hw_counters", "hw_counters", OF_PORT, false},
	{"counters", "counters", OF_PORT, false},
	{"cm_rx_msgs", "cm_rx_msgs", OF_PORT, false},
	{"cm_tx_msgs", "cm_tx_msgs", OF_PORT, false},
	{"cm_rx_duplicates", "cm_rx_duplicates", OF_PORT, false},
	{"cm_tx_retries", "cm_tx_retries", OF_PORT, false},
	{"hw_counters", "device/hw_counters", OF_DEVICE, false},
	{"mr_cache", "device/mr_cache", OF_DEVICE, true},
	{"mad_sa_cc", "device/mad_sa_cc", OF_DEVICE, true},
	{"statistics", "netdev", OF_NETDEV, false},
};

/* Reads the lifetime of the kernel's cache from the file `lifespan` next to the counters. */
static void load_lifespan(struct rd_counters *c, const char *dir)
{
	uint64_t ms;

	if (!rd_sysfs_u64(&ms, "%s/lifespan", dir) && ms <= 10000 && ms > c->lifespan_ms)
		c->lifespan_ms = (unsigned int)ms;
}

static int load_dir(struct rd_counters *c, const char *dir, const char *prefix)
{
	struct rd_names names;
	int ret = 0;

	/* Absent, unreadable, or not a directory: it has no counters. */
	if (rd_sysfs_list(&names, "%s", dir))
		return errno == ENOMEM ? -1 : 0;
	load_lifespan(c, dir);
	for (size_t i = 0; i < names.n && !ret; i++) {
		char name[NAME_ROOM];
		uint64_t value;

		if (!strcmp(names.name[i], "lifespan"))
			continue;
		snprintf(name, sizeof(name), "%s/%.255s", prefix, names.name[i]);
		if (!rd_counters_want(c, name))
			continue;
		if (rd_sysfs_u64(&value, "%s/%s", dir, names.name[i]))
			c->n_unreadable++;
		else
			ret = rd_counters_add(c, value, "%s", name);
	}
	rd_names_free(&names);
	return ret;
}

/* The numbered directories one level below. */
static int load_nested(struct rd_counters *c, const char *dir, const char *prefix)
{
	struct rd_names names;
	int ret = 0;

	if (rd_sysfs_list(&names, "%s", dir))
		return errno == ENOMEM ? -1 : 0;
	for (size_t i = 0; i < names.n && !ret; i++) {
		char below[PATH_MAX], place[NAME_ROOM];

		if (strspn(names.name[i], "0123456789") != strlen(names.name[i]) ||
			snprintf(below, sizeof(below), "%s/%s", dir, names.name[i]) >=
				(int)sizeof(below))
			continue;
		snprintf(place, sizeof(place), "%s/%s", prefix, names.name[i]);
		ret = load_dir(c, below, place);
	}
	rd_names_free(&names);
	return ret;
}

static int load_place(struct rd_counters *c, const struct place *p, const char *root)
{
	static const char *const formats[] = {[OF_PORT] = "infiniband/%s/ports/%u",
		[OF_DEVICE] = "infiniband/%s",
		[OF_NETDEV] = "net/%s"};
	const char *name = p->of == OF_NETDEV ? c->netdev : c->device;
	char dir[PATH_MAX], of[RD_NAME_MAX + 40];

	snprintf(of, sizeof(of), formats[p->of], name, c->port);
	if (!*name || snprintf(dir, sizeof(dir), "%s/sys/class/%s/%s", root, of, p->dir) >=
			      (int)sizeof(dir))
		return 0;
	return p->nested ? load_nested(c, dir, p->prefix) : load_dir(c, dir, p->prefix);
}

int rd_counters_load_kinds(struct rd_counters *c, const char *sysroot,
	const struct rd_device *device, const struct rd_port *port, unsigned int flags,
	struct rd_error *err)
{
	int ret = 0;

	*c = (struct rd_counters){.port = port->num,
		.infiniband = port->link == RD_LINK_INFINIBAND,
		.speed = port->speed,
		.flags = flags};
	memcpy(c->device, device->name, sizeof(c->device));
	memcpy(c->driver, device->driver, sizeof(c->driver));
	if (port->n_netdevs)
		memcpy(c->netdev, port->netdevs[0].name, sizeof(c->netdev));
	c->time_ns = rd_wall_ns();
	for (size_t i = 0; i < RD_COUNT(places) && !ret; i++)
		ret = load_place(c, &places[i], sysroot);
	if (!ret && *c->netdev && !*sysroot)
		ret = rd_ethtool_load(c, false);
	if (!ret)
		return 0;
	rd_counters_free(c);
	return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot keep the counters of '%s'",
		device->name);
}

int rd_counters_load(struct rd_counters *c, const char *sysroot, const struct rd_device *device,
	const struct rd_port *port, struct rd_error *err)
{
	return rd_counters_load_kinds(c, sysroot, device, port, 0, err);
}
