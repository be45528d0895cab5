/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares a port with its last known state: by two readings, or a message of rtnetlink. */
#include "monitored.h"
#include "sysfs.h"
#include <rdmadump/clock.h>
#include <rdmadump/log.h>
#include <rdmadump/memory.h>
#include <rdmadump/notation.h>

/* --- the queue of events: its memory is used again whenever it is empty ------------------- */

void events_put(const struct event_to *to, const char *kind, const char *netdev,
	const char *previous, const char *fmt, ...)
{
	struct events *q = to->queue;
	struct rd_event *e = rd_append(&q->event, q->n, sizeof(*e));

	if (!e) {
		rd_log(RD_LOG_WARNING, "out of memory: an event is not reported");
		return;
	}
	q->n++;
	*e = to->as;
	e->ts_ns = rd_wall_ns();
	e->kind = kind;
	snprintf(e->netdev, sizeof(e->netdev), "%s", netdev);
	snprintf(e->previous, sizeof(e->previous), "%s", previous);
	RD_FORMAT(e->text, sizeof(e->text), fmt);
}

bool events_next(struct events *q, struct rd_event *event)
{
	if (q->first == q->n)
		return false;
	*event = q->event[q->first++];
	if (q->first == q->n)
		q->first = q->n = 0;
	return true;
}

/* --- GIDs -------------------------------------------------------------------------------- */

static bool has_gid(const struct rd_port *port, const struct rd_gid *gid)
{
	return RD_ANY(g, port->gids, port->n_gids,
		g->index == gid->index && g->type == gid->type &&
			!memcmp(g->raw, gid->raw, sizeof(gid->raw)));
}

/* The GIDs of `port` that `other` does not have. */
static unsigned int report_gids(const struct rd_port *port, const struct rd_port *other,
	bool is_iwarp, bool is_added, const struct event_to *to)
{
	struct event_to its = *to;
	unsigned int n = 0;

	its.as.has_gid = true;
	for (unsigned int i = 0; i < port->n_gids; i++) {
		const struct rd_gid *gid = &port->gids[i];
		char text[RD_ADDRESS_LEN];

		if (has_gid(other, gid))
			continue;
		its.as.gid = *gid;
		events_put(&its, is_added ? "gid_added" : "gid_removed", gid->ndev, "",
			"GID %u %s: %s, %s", gid->index, is_added ? "added" : "removed",
			rd_gid_text(text, gid->raw),
			is_iwarp ? "iWARP" : rd_gid_type_name(gid->type));
		n++;
	}
	return n;
}

unsigned int port_gid_changes(const struct rd_port *before, const struct rd_port *now,
	bool is_iwarp, const struct event_to *to)
{
	return report_gids(before, now, is_iwarp, false, to) +
	       report_gids(now, before, is_iwarp, true, to);
}

/* --- state ------------------------------------------------------------------------------- */

static void report_number(const struct event_to *to, const char *kind, const char *netdev,
	const char *what, uint32_t from, uint32_t now)
{
	char was[16];

	snprintf(was, sizeof(was), "%u", from);
	if (from != now)
		events_put(to, kind, netdev, was, "%s changed from %s to %u", what, was, now);
}

void port_state_changes(
	const struct rd_port *before, const struct rd_port *now, const struct event_to *to)
{
	bool was = !strcmp(before->state, "active"), is = !strcmp(now->state, "active");

	if (was != is)
		events_put(to, is ? "port_active" : "port_error", "", "", "port %s",
			is ? "up" : "down");
	report_number(to, "lid_change", "", "LID", before->lid, now->lid);
	report_number(
		to, "sm_change", "", "LID of the subnet manager", before->sm_lid, now->sm_lid);
}

/* --- netdevs by sysfs -------------------------------------------------------------------- */

/* One that is being removed has files that cannot be read: rtnetlink reports it. */
static bool exists(const struct rd_netdev *netdev)
{
	char name[IF_NAMESIZE];

	return netdev->ifindex && if_indextoname(netdev->ifindex, name);
}

static void report_netdevs(const struct rd_port *port, const struct rd_port *other,
	const char *kind, const char *text, const struct event_to *to)
{
	for (unsigned int i = 0; i < port->n_netdevs; i++)
		if (!RD_ANY(n, other->netdevs, other->n_netdevs,
			    n->ifindex == port->netdevs[i].ifindex) &&
			exists(&port->netdevs[i]))
			events_put(to, kind, port->netdevs[i].name, "", "%s", text);
}

void port_netdev_changes(
	const struct rd_port *before, const struct rd_port *now, const struct event_to *to)
{
	report_netdevs(before, now, "netdev_detached", "netdev detached", to);
	report_netdevs(now, before, "netdev_attached", "netdev attached", to);
}

/* --- netdevs by rtnetlink ---------------------------------------------------------------- */

static void take_name(const struct event_to *to, struct rd_netdev *netdev, const char *name)
{
	char was[IF_NAMESIZE];

	if (!*name || !strcmp(netdev->name, name))
		return;
	memcpy(was, netdev->name, sizeof(was));
	memcpy(netdev->name, name, sizeof(netdev->name));
	events_put(to, "netdev_renamed", name, was, "netdev renamed from %s", was);
}

static void take_mac(const struct event_to *to, struct rd_netdev *netdev, const uint8_t mac[6])
{
	char was[RD_MAC_LEN], is[RD_MAC_LEN];

	if (!memcmp(netdev->mac, mac, sizeof(netdev->mac)))
		return;
	rd_mac_text(was, netdev->mac);
	memcpy(netdev->mac, mac, sizeof(netdev->mac));
	events_put(to, "netdev_mac_changed", netdev->name, was, "MAC address changed from %s to %s",
		was, rd_mac_text(is, mac));
}

static void take_mtu(const struct event_to *to, struct rd_netdev *netdev, uint32_t mtu)
{
	if (!mtu)
		return;
	report_number(to, "netdev_mtu_changed", netdev->name, "MTU", netdev->mtu, mtu);
	netdev->mtu = mtu;
}

static void take_state(const struct event_to *to, struct rd_netdev *netdev, unsigned int flags)
{
	bool was = !strcmp(netdev->operstate, "up") || !strcmp(netdev->operstate, "unknown");
	bool is = flags & IFF_RUNNING, known = *netdev->operstate;
	const char *now = is ? "up" : "down";

	snprintf(netdev->operstate, sizeof(netdev->operstate), "%s", now);
	if (known && was != is)
		events_put(
			to, is ? "netdev_up" : "netdev_down", netdev->name, "", "netdev %s", now);
}

static void remove_netdev(const struct event_to *to, struct rd_port *port, unsigned int i)
{
	struct rd_netdev *netdev = &port->netdevs[i];

	events_put(to, "netdev_removed", netdev->name, "", "netdev removed");
	memmove(netdev, netdev + 1, (port->n_netdevs - i - 1) * sizeof(*netdev));
	port->netdevs[--port->n_netdevs] = (struct rd_netdev){0};
}

/* A VLAN's addresses become GIDs of the port below. A removed one may have been above any port. */
static bool is_above(unsigned int ifindex, const struct rd_port *port)
{
	char name[IF_NAMESIZE];

	if (!if_indextoname(ifindex, name))
		return true;
	return RD_ANY(n, port->netdevs, port->n_netdevs,
		rd_sysfs_exists("/sys/class/net/%s/lower_%s", name, n->name));
}

bool netdev_changes(
	struct rd_port *port, const struct rd_link_change *change, const struct event_to *to)
{
	for (unsigned int i = 0; i < port->n_netdevs; i++) {
		struct rd_netdev *netdev = &port->netdevs[i];

		if (netdev->ifindex != change->ifindex)
			continue;
		if (change->kind == RD_LINK_REMOVED) {
			remove_netdev(to, port, i);
		} else if (change->kind == RD_LINK_STATE) {
			take_name(to, netdev, change->name);
			if (change->has_mac)
				take_mac(to, netdev, change->mac);
			take_mtu(to, netdev, change->mtu);
			take_state(to, netdev, change->flags);
		}
		return true;
	}
	return change->kind != RD_LINK_STATE && is_above(change->ifindex, port);
}
