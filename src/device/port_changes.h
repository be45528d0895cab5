/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes of a port between two readings of sysfs. */
#ifndef RDMADUMP_DEVICE_PORT_CHANGES_H
#define RDMADUMP_DEVICE_PORT_CHANGES_H

#include <rdmadump/event.h>

/* `event` has kind, text, port and details; the caller adds device and time. */
typedef void port_change_fn(void *ctx, const struct rd_event *event);

/* GIDs removed, then GIDs added, each with its index and type. Returns how many there are. */
unsigned int port_gid_changes(const struct rd_port *before, const struct rd_port *now,
	bool is_iwarp, port_change_fn *fn, void *ctx);
/* State, LID and LID of the subnet manager. */
void port_state_changes(
	const struct rd_port *before, const struct rd_port *now, port_change_fn *fn, void *ctx);
/* Netdevs that the port gained or lost, compared by index; a new name is not a change here. */
void port_netdev_changes(
	const struct rd_port *before, const struct rd_port *now, port_change_fn *fn, void *ctx);

#endif
