/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a port may send frames with the MAC address of its netdev. The ports of a bond share it:
 * a frame from the backup port teaches the switch that the address is there, and the bond receives
 * nothing until its active port sends again. In an LACP bond the switch knows both ports. The ports
 * of a team do so, too; sysfs does not have their state, so all count as backup ports.
 */
#include "../device/sysfs.h"
#include "selftest.h"
#include <string.h>

static bool may_send_in_bond(const char *name, char why[MAY_SEND_TEXT])
{
	char mode[32], active[RD_NAME_MAX];

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

/* A bridge has the address of one of its ports; VRFs and virtual switches have their own. */
static bool shares_address(const char *name)
{
	char own[32], master[32];

	rd_sysfs_text(own, sizeof(own), "/sys/class/net/%s/address", name);
	rd_sysfs_text(master, sizeof(master), "/sys/class/net/%s/master/address", name);
	return *master && strcmp(own, master) == 0 &&
	       !rd_sysfs_exists("/sys/class/net/%s/master/bridge", name);
}

bool port_may_send(const struct rd_port *port, char why[MAY_SEND_TEXT])
{
	const char *name = port->n_netdevs ? port->netdevs[0].name : "";

	why[0] = '\0';
	if (!*name)
		return true;
	if (rd_sysfs_exists("/sys/class/net/%s/master/bonding", name))
		return may_send_in_bond(name, why);
	if (!shares_address(name))
		return true;
	snprintf(why, MAY_SEND_TEXT,
		"%s shares its MAC address with its master (a team or the like), whose active port "
		"is not known: frames from another one would take the address to another switch "
		"port, and were not sent",
		name);
	return false;
}
