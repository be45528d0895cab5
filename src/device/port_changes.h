/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Differences from the last known state of a port become events. */
#ifndef RDMADUMP_DEVICE_PORT_CHANGES_H
#define RDMADUMP_DEVICE_PORT_CHANGES_H

#include "events.h"

/* Between two readings of sysfs. */

/* GIDs removed, then GIDs added, each with its index and type. Returns how many there are. */
unsigned int port_gid_changes(const struct rd_port *before, const struct rd_port *now,
	bool is_iwarp, const struct event_to *to);
/* State, LID and LID of the subnet manager. */
void port_state_changes(
	const struct rd_port *before, const struct rd_port *now, const struct event_to *to);
/* Netdevs that the port gained or lost, compared by index; a new name is not a change here. */
void port_netdev_changes(
	const struct rd_port *before, const struct rd_port *now, const struct event_to *to);

/*
 * By a message of rtnetlink: updates the port's netdevs and reports each difference: name, MAC
 * address, MTU, up or down, removed. True if the message is about this port; its GIDs may then have
 * changed too.
 */
bool netdev_changes(
	struct rd_port *port, const struct rd_link_change *change, const struct event_to *to);

#endif
