/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares two readings of a port. */
#include "port_changes.h"
#include <net/if.h>
#include <rdmadump/notation.h>
#include <stdio.h>
#include <string.h>

/* --- GIDs -------------------------------------------------------------------------------- */

static bool has_gid(const struct rd_port *port, const struct rd_gid *gid)
{
	for (unsigned int i = 0; i < port->n_gids; i++)
		if (port->gids[i].index == gid->index && port->gids[i].type == gid->type &&
			!memcmp(port->gids[i].raw, gid->raw, sizeof(gid->raw)))
			return true;
	return false;
}

/* The GIDs of `port` that `other` does not have. */
static unsigned int report_gids(const struct rd_port *port, const struct rd_port *other,
	bool is_iwarp, bool is_added, port_change_fn *fn, void *ctx)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < port->n_gids; i++) {
		const struct rd_gid *gid = &port->gids[i];
		struct rd_event e = {.port = port->num,
			.kind = is_added ? "gid_added" : "gid_removed",
			.origin = "sysfs",
			.gid = *gid,
			.has_gid = true};
		char text[RD_ADDRESS_LEN];

		if (has_gid(other, gid))
			continue;
		memcpy(e.netdev, gid->ndev, sizeof(e.netdev));
		snprintf(e.text, sizeof(e.text), "GID %u %s: %s, %s", gid->index,
			is_added ? "added" : "removed", rd_gid_text(text, gid->raw),
			is_iwarp ? "iWARP" : rd_gid_type_name(gid->type));
		fn(ctx, &e);
		n++;
	}
	return n;
}

unsigned int port_gid_changes(const struct rd_port *before, const struct rd_port *now,
	bool is_iwarp, port_change_fn *fn, void *ctx)
{
	return report_gids(before, now, is_iwarp, false, fn, ctx) +
	       report_gids(now, before, is_iwarp, true, fn, ctx);
}

/* --- state ------------------------------------------------------------------------------- */

static void report_number(const struct rd_port *now, const char *kind, const char *what,
	uint32_t from, uint32_t to, port_change_fn *fn, void *ctx)
{
	struct rd_event e = {.port = now->num, .kind = kind, .origin = "sysfs"};

	if (from == to)
		return;
	snprintf(e.text, sizeof(e.text), "%s changed from %u to %u", what, from, to);
	snprintf(e.previous, sizeof(e.previous), "%u", from);
	fn(ctx, &e);
}

void port_state_changes(
	const struct rd_port *before, const struct rd_port *now, port_change_fn *fn, void *ctx)
{
	bool was = !strcmp(before->state, "active"), is = !strcmp(now->state, "active");
	struct rd_event e = {.port = now->num, .origin = "sysfs"};

	if (was != is) {
		e.kind = is ? "port_active" : "port_error";
		snprintf(e.text, sizeof(e.text), "port %s", is ? "up" : "down");
		fn(ctx, &e);
	}
	report_number(now, "lid_change", "LID", before->lid, now->lid, fn, ctx);
	report_number(now, "sm_change", "LID of the subnet manager", before->sm_lid, now->sm_lid,
		fn, ctx);
}

/* --- netdevs ----------------------------------------------------------------------------- */

static bool has_netdev(const struct rd_port *port, uint32_t ifindex)
{
	for (unsigned int i = 0; i < port->n_netdevs; i++)
		if (port->netdevs[i].ifindex == ifindex)
			return true;
	return false;
}

/* One that is being removed has files that cannot be read: rtnetlink reports it. */
static bool exists(const struct rd_netdev *netdev)
{
	char name[IF_NAMESIZE];

	return netdev->ifindex && if_indextoname(netdev->ifindex, name);
}

static void report_netdevs(const struct rd_port *port, const struct rd_port *other,
	const struct rd_event *as, port_change_fn *fn, void *ctx)
{
	for (unsigned int i = 0; i < port->n_netdevs; i++) {
		struct rd_event e = *as;

		if (has_netdev(other, port->netdevs[i].ifindex) || !exists(&port->netdevs[i]))
			continue;
		memcpy(e.netdev, port->netdevs[i].name, sizeof(e.netdev));
		fn(ctx, &e);
	}
}

void port_netdev_changes(
	const struct rd_port *before, const struct rd_port *now, port_change_fn *fn, void *ctx)
{
	const struct rd_event detached = {.port = now->num,
		.kind = "netdev_detached",
		.text = "netdev detached",
		.origin = "sysfs"};
	const struct rd_event attached = {.port = now->num,
		.kind = "netdev_attached",
		.text = "netdev attached",
		.origin = "sysfs"};

	report_netdevs(before, now, &detached, fn, ctx);
	report_netdevs(now, before, &attached, fn, ctx);
}
