/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collects everything that can be read about one device: sysfs (kernel: Documentation/ABI/stable/
 * sysfs-class-infiniband, Documentation/ABI/testing/sysfs-bus-pci), then modules, verbs, devlink.
 */
#include "info_parts.h"
#include "netlink/netlink.h"
#include "sysfs.h"
#include <errno.h>
#include <limits.h>
#include <rdmadump/units.h>
#include <stdlib.h>

/*
 * Where the PCI function's directory is: `device`, or, of a subfunction, above it. A copied tree
 * may lack the links of sys/bus.
 */
static void find_pci(char *dir, size_t size, const char *base)
{
	static const char *const ups[] = {"", "/..", "/../.."};

	for (size_t i = 0; i < RD_COUNT(ups); i++) {
		snprintf(dir, size, "%s/device%s", base, ups[i]);
		if (rd_sysfs_exists("%s/vendor", dir))
			return;
	}
}

static void load_pci(struct rd_pci_link *pci, const char *base)
{
	char dir[PATH_MAX + 32];
	uint64_t node;

	find_pci(dir, sizeof(dir), base);
	rd_sysfs_text(pci->speed, sizeof(pci->speed), "%s/current_link_speed", dir);
	rd_sysfs_text(pci->max_speed, sizeof(pci->max_speed), "%s/max_link_speed", dir);
	pci->width = rd_sysfs_u32("%s/current_link_width", dir);
	pci->max_width = rd_sysfs_u32("%s/max_link_width", dir);
	pci->numa_node =
		rd_sysfs_u64(&node, "%s/numa_node", dir) || node > INT_MAX ? -1 : (int)node;
	rd_sysfs_text(pci->cpus, sizeof(pci->cpus), "%s/local_cpulist", dir);
	pci->subsystem_vendor = rd_sysfs_u32("%s/subsystem_vendor", dir);
	pci->subsystem_device = rd_sysfs_u32("%s/subsystem_device", dir);
}

/* The highest bit distinguishes full from limited membership: without it an unset P_Key is 0. */
static int load_pkeys(struct rd_port_info *port, unsigned int num, const char *base)
{
	struct rd_names names;
	int ret = 0;

	if (rd_sysfs_list(&names, "%s/ports/%u/pkeys", base, num))
		return 0;
	port->pkeys = calloc(names.n ? names.n : 1, sizeof(*port->pkeys));
	if (!port->pkeys)
		ret = -1;
	for (size_t i = 0; i < names.n && !ret; i++) {
		uint64_t index, pkey;

		if (rd_parse_u64(names.name[i], 0, UINT16_MAX, &index) ||
			rd_sysfs_u64(&pkey, "%s/ports/%u/pkeys/%s", base, num, names.name[i]) ||
			pkey > UINT16_MAX || !(pkey & 0x7fff))
			continue;
		port->pkeys[port->n_pkeys++] = (struct rd_pkey){(uint16_t)index, (uint16_t)pkey};
	}
	rd_names_free(&names);
	return ret;
}

static int load_dcb(
	struct rd_port_info *out, const struct rd_device *device, const struct rd_port *port)
{
	if (port->link != RD_LINK_ETHERNET)
		return 0;
	out->dcb = calloc(port->n_netdevs ? port->n_netdevs : 1, sizeof(*out->dcb));
	if (!out->dcb)
		return -1;
	for (unsigned int i = 0; i < port->n_netdevs; i++)
		rd_dcb_load(&out->dcb[out->n_dcb++], device, &port->netdevs[i]);
	return 0;
}

static int load_port(struct rd_port_info *out, const struct rd_device *device,
	const struct rd_port *port, const char *root, const char *base)
{
	char dir[PATH_MAX + 32];
	uint64_t mask;

	snprintf(dir, sizeof(dir), "%s/ports/%u", base, port->num);
	out->has_cap_mask = !rd_sysfs_u64(&mask, "%s/cap_mask", dir) && mask <= UINT32_MAX;
	if (out->has_cap_mask)
		out->cap_mask = (uint32_t)mask;
	out->lmc = rd_sysfs_u32("%s/lid_mask_count", dir);
	out->sm_sl = rd_sysfs_u32("%s/sm_sl", dir);
	rd_roce_settings(&out->settings, device, port, root);
	return load_pkeys(out, port->num, base) || load_dcb(out, device, port) ? -1 : 0;
}

static int load_files(struct rd_info *info, const char *base)
{
	const struct rd_device *device = info->device;
	const char *root = info->sysroot;

	rd_sysfs_text(
		info->sys_image_guid, sizeof(info->sys_image_guid), "%s/sys_image_guid", base);
	rd_sysfs_text(info->hw_rev, sizeof(info->hw_rev), "%s/hw_rev", base);
	load_pci(&info->pci, base);
	rd_modules_load(info->modules, device, root);
	info->provider = rd_provider_name(device);
	info->ports = calloc(device->n_ports ? device->n_ports : 1, sizeof(*info->ports));
	if (!info->ports)
		return -1;
	for (unsigned int i = 0; i < device->n_ports; i++)
		if (load_port(&info->ports[i], device, &device->ports[i], root, base))
			return -1;
	return 0;
}

int rd_info_load(struct rd_info *info, const struct rd_device *device, const char *sysroot,
	struct rd_error *err)
{
	char base[PATH_MAX];
	int n = snprintf(base, sizeof(base), "%s/sys/class/infiniband/%s", sysroot, device->name);

	*info = (struct rd_info){.device = device, .sysroot = sysroot, .provider = ""};
	if (n < 0 || (size_t)n >= sizeof(base))
		return rd_fail(err, RD_CLASS_DEVICE, ENAMETOOLONG, NULL, "'%s'", sysroot);
	if (load_files(info, base)) {
		rd_info_free(info);
		return rd_fail(
			err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot describe %s", device->name);
	}
	rd_lockdown_read(sysroot, info->lockdown, sizeof(info->lockdown));
	if (device->copied) {
		snprintf(info->closed_why, sizeof(info->closed_why),
			"read from a copied tree: the device itself, its firmware and what is open "
			"on it were not queried");
		return 0;
	}
	rd_query_verbs(info);
	rd_devlink_firmware(info);
	return 0;
}

void rd_info_free(struct rd_info *info)
{
	for (unsigned int i = 0; info->ports && i < info->device->n_ports; i++) {
		struct rd_port_info *port = &info->ports[i];

		free(port->pkeys);
		for (unsigned int k = 0; k < port->n_dcb; k++)
			rd_dcb_free(&port->dcb[k]);
		free(port->dcb);
		rd_attrs_free(&port->settings);
	}
	free(info->ports);
	free(info->firmware);
	rd_attrs_free(&info->limits);
	rd_attrs_free(&info->provider_attrs);
	*info = (struct rd_info){0};
}
