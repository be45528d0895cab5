/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a port may send frames with the MAC address of its netdev. The ports of a bond share it:
 * a frame from the backup port teaches the switch that the address is there, and the bond receives
 * nothing until its active port sends again. In an LACP bond the switch knows both ports.
 */
#include "may_send.h"
#include "../device/sysfs.h"
#include <stdio.h>
#include <string.h>

bool port_may_send(const struct rd_port *port, char why[MAY_SEND_TEXT])
{
	const char *name = port->n_netdevs ? port->netdevs[0].name : "";
	char mode[32], active[RD_NAME_MAX];

	why[0] = '\0';
	if (!*name || !rd_sysfs_exists("/sys/class/net/%s/master/bonding", name))
		return true;
	rd_sysfs_text(mode, sizeof(mode), "/sys/class/net/%s/master/bonding/mode", name);
	rd_sysfs_text(
		active, sizeof(active), "/sys/class/net/%s/master/bonding/active_slave", name);
	mode[strcspn(mode, " ")] = '\0';
	if (strcmp(mode, "802.3ad") == 0 || strcmp(active, name) == 0)
		return true;
	snprintf(why, MAY_SEND_TEXT,
		"%s is in a bond (%s) and not its active port: frames from it would take the "
		"bond's MAC address to another switch port, and were not sent",
		name, *mode ? mode : "unknown mode");
	return false;
}
