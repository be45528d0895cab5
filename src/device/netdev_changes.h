/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Applies the kernel's messages about links to the netdevs of a port. */
#ifndef RDMADUMP_DEVICE_NETDEV_CHANGES_H
#define RDMADUMP_DEVICE_NETDEV_CHANGES_H

#include "port_changes.h"

/*
 * Updates the port's netdevs and reports each difference: name, MAC address, MTU, up or down,
 * removed. True if the message is about this port; its GIDs may then have changed too.
 */
bool netdev_changes(
	struct rd_port *port, const struct rd_link_change *change, port_change_fn *fn, void *ctx);

#endif
