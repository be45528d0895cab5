/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether the port sniffer of a device can be used, by sysfs and the privileges of this process. */
#include "port_sniffer_mlx5.h"
#include "sysfs.h"
#include <linux/capability.h>
#include <rdmadump/info.h>
#include <rdmadump/privilege.h>
#include <string.h>

static bool is_locked_down(const struct rd_device *device)
{
	char state[32];

	if (device->copied)
		return false;
	rd_lockdown_read("", state, sizeof(state));
	return *state && strcmp(state, "none") != 0;
}

bool rd_port_sniffer_possible(const struct rd_device *device, struct rd_sniffer_refusal *why)
{
	const struct {
		bool holds;
		struct rd_sniffer_refusal refusal;
	} refusals[] = {
		{strcmp(device->driver, "mlx5_core") != 0,
			{"only ConnectX-4 and later have that command",
				"leave --sniffer icmd out"}},
		{device->function.kind == RD_FUNCTION_VF,
			{"a VF has no command gateway", RD_SNIFFER_ON_PF}},
		{device->function.kind == RD_FUNCTION_SF,
			{"an SF has no command gateway", RD_SNIFFER_ON_PF}},
		{sniffer_chip_in_recovery(device->part_id),
			{"the adapter runs without firmware (recovery mode)",
				"burn its firmware (mstflint) and restart the machine"}},
		{sniffer_chip_undocumented(device->part_id),
			{"the command gateway of a ConnectX-10 is not documented",
				RD_SNIFFER_ELSEWHERE}},
		{!sniffer_chip_find(device->part_id),
			{"the registers of this adapter are not known to rdmadump",
				RD_SNIFFER_ELSEWHERE}},
		{!device->copied && !rd_sysfs_exists("/sys/bus/pci/devices/%s/config", device->pci),
			{"PCI configuration space is not visible here",
				"use --sniffer icmd on the host itself, outside of any container, "
				"or mirror the port on the switch"}},
		{is_locked_down(device),
			{"kernel lockdown, as with Secure Boot, forbids writing PCI configuration "
			 "space",
				"boot without Secure Boot to use --sniffer icmd, or mirror the "
				"port on the switch"}},
		{!device->copied && !rd_has_capability(CAP_SYS_ADMIN),
			{"it needs root: CAP_SYS_ADMIN is missing", RD_SNIFFER_AS_ROOT}},
	};

	for (size_t i = 0; i < RD_COUNT(refusals); i++) {
		if (!refusals[i].holds)
			continue;
		*why = refusals[i].refusal;
		return false;
	}
	return true;
}

int rd_port_sniffer_check_link(
	const struct rd_device *device, const struct rd_port *port, struct rd_error *err)
{
	if (port->link == RD_LINK_INFINIBAND)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, 0,
		"leave --sniffer icmd out, mirror the port on the switch, or accept the risk with "
		"--force",
		"--sniffer icmd on %s port %u: on an Ethernet port the firmware may copy the "
		"traffic to another program's queue pair",
		device->name, port->num);
}

int rd_port_sniffer_check(const struct rd_device *device, struct rd_error *err)
{
	struct rd_sniffer_refusal refusal;

	if (rd_port_sniffer_possible(device, &refusal))
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, 0, refusal.todo, "--sniffer icmd on %s: %s",
		device->name, refusal.why);
}
