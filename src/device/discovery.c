/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every RDMA device of the machine, or of a copied sysfs tree (kernel:
 * Documentation/ABI/stable/sysfs-class-infiniband, Documentation/ABI/testing/sysfs-bus-pci).
 */
#include "discovery.h"
#include "netlink/netlink.h"
#include "sysfs.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <rdmadump/bytes.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define PORTS_MAX 255 /* port numbers are one byte */

/* "0000:3b:00.0"; the domain of a device below VMD has more than four digits. */
static bool is_pci_address(const char *text)
{
	size_t domain = strspn(text, "0123456789abcdef");

	if (domain < 4 || domain > 8)
		return false;
	text += domain;
	return text[0] == ':' && isxdigit((unsigned char)text[1]) &&
	       isxdigit((unsigned char)text[2]) && text[3] == ':' &&
	       isxdigit((unsigned char)text[4]) && isxdigit((unsigned char)text[5]) &&
	       text[6] == '.' && isdigit((unsigned char)text[7]) && !text[8];
}

/*
 * The PCI function is what `device` links to, or, of an auxiliary device (a subfunction), one of
 * its parents. A tree that was copied without links still has the uevent files.
 */
static void load_pci(struct rd_device *device, const char *base)
{
	static const char *const ups[] = {"", "/..", "/../.."};
	char text[64];

	for (size_t i = 0; i < RD_COUNT(ups) && !*device->pci; i++) {
		rd_sysfs_link(text, sizeof(text), "%s/device%s", base, ups[i]);
		if (!is_pci_address(text))
			rd_sysfs_uevent(text, sizeof(text), "PCI_SLOT_NAME", "%s/device%s/uevent",
				base, ups[i]);
		if (!is_pci_address(text))
			continue;
		rd_text_clean(device->pci, sizeof(device->pci), text);
		if (rd_sysfs_link(device->driver, sizeof(device->driver), "%s/device%s/driver",
			    base, ups[i]))
			rd_sysfs_uevent(device->driver, sizeof(device->driver), "DRIVER",
				"%s/device%s/uevent", base, ups[i]);
		device->vendor_id = rd_sysfs_u32("%s/device%s/vendor", base, ups[i]);
		device->part_id = rd_sysfs_u32("%s/device%s/device", base, ups[i]);
	}
	if (!*device->driver)
		rd_sysfs_link(device->driver, sizeof(device->driver), "%s/device/driver", base);
}

/*
 * Software devices are recognized indirectly: only rxe has a `parent` file; siw has a fixed node
 * description, which can be overwritten. Older kernels give both a `device` link to the NIC below,
 * so this is checked first.
 */
static bool load_virtual(struct rd_device *device, const char *base)
{
	const char *driver = NULL;

	if (rd_sysfs_exists("%s/parent", base))
		driver = "rdma_rxe";
	else if (!strcmp(device->node_desc, "Software iWARP stack"))
		driver = "siw";
	else if (!strcmp(device->node_type, "RNIC") && !rd_sysfs_exists("%s/device", base))
		driver = "siw";
	if (!driver)
		return false;
	snprintf(device->driver, sizeof(device->driver), "%s", driver);
	return true;
}

/*
 * mlx4 can steer flows, and so sniff, only in a mode that the module's parameter asks for with a
 * value of 0 or below; above, it is the size of multicast groups.
 */
static bool steering_is_off(const struct rd_device *device, const char *root)
{
	uint64_t value;

	return !strcmp(device->driver, "mlx4_core") &&
	       !rd_sysfs_u64(
		       &value, "%s/sys/module/mlx4_core/parameters/log_num_mgm_entry_size", root) &&
	       value > 0;
}

static void load_identity(struct rd_device *device, const char *root, const char *base)
{
	char text[64];
	uint8_t guid[8];
	const char *colon;

	rd_sysfs_text(device->fw, sizeof(device->fw), "%s/fw_ver", base);
	rd_sysfs_text(device->board_id, sizeof(device->board_id), "%s/board_id", base);
	rd_sysfs_text(device->hca_type, sizeof(device->hca_type), "%s/hca_type", base);
	rd_sysfs_text(device->node_desc, sizeof(device->node_desc), "%s/node_desc", base);
	rd_sysfs_text(text, sizeof(text), "%s/node_type", base);
	colon = strstr(text, ": ");
	rd_text_clean(device->node_type, sizeof(device->node_type), colon ? colon + 2 : text);
	rd_sysfs_text(text, sizeof(text), "%s/node_guid", base);
	if (!rd_hex_bytes(text, 2, guid, sizeof(guid)))
		device->node_guid = rd_be64(guid);
	if (!load_virtual(device, base))
		load_pci(device, base);
	device->no_steering = steering_is_off(device, root);
	device->copied = *root != '\0';
}

static int load_ports(struct rd_device *device, const char *root, const char *base, bool glance)
{
	struct rd_names names;
	int ret = 0;

	if (rd_sysfs_list(&names, "%s/ports", base))
		return 0;
	device->ports = names.n ? calloc(names.n, sizeof(*device->ports)) : NULL;
	if (names.n && !device->ports)
		ret = -1;
	for (size_t i = 0; i < names.n && !ret; i++) {
		uint64_t num;

		if (!rd_parse_u64(names.name[i], 1, PORTS_MAX, &num) && device->n_ports < PORTS_MAX)
			device->ports[device->n_ports++].num = (unsigned int)num;
	}
	/* The number of ports must be known before netdevs are assigned to them. */
	for (unsigned int i = 0; i < device->n_ports && !ret; i++)
		ret = rd_port_load(&device->ports[i], device, root, base, glance);
	rd_names_free(&names);
	return ret;
}

static int load_device(struct rd_device *device, const char *root, const char *name, bool glance)
{
	char base[PATH_MAX];
	int n = snprintf(base, sizeof(base), "%s/sys/class/infiniband/%s", root, name);

	rd_text_clean(device->name, sizeof(device->name), name);
	if (n < 0 || (size_t)n >= sizeof(base))
		return 0;
	load_identity(device, root, base);
	rd_function_load(device, root, base);
	return load_ports(device, root, base, glance);
}

static int list_devices(struct rd_names *names, const char *root, struct rd_error *err)
{
	int failure;

	if (!rd_sysfs_list(names, "%s/sys/class/infiniband", root))
		return 0;
	failure = errno;
	if (*root && !rd_sysfs_exists("%s/sys", root))
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"name the directory that holds a copied 'sys'",
			"no directory 'sys' in '%s'", root);
	if (failure != ENOENT)
		return rd_fail(err, RD_CLASS_DEVICE, failure, NULL,
			"cannot list %s/sys/class/infiniband", root);
	return 0;
}

/* Without the slashes at the end, so that "/" is the running system like "". */
static char *copy_root(const char *sysroot)
{
	size_t n = strlen(sysroot);

	while (n && sysroot[n - 1] == '/')
		n--;
	return strndup(sysroot, n);
}

/*
 * A container may see the host's sysfs: what the kernel does not list for this network namespace
 * cannot be used in it.
 */
static void keep_own(struct rd_devices *devices, struct rd_names *names)
{
	struct rd_nldev_devices seen;
	size_t kept = 0;

	if (*devices->sysroot || rd_nldev_load(&seen))
		return;
	devices->by_netlink = true;
	for (size_t i = 0; i < names->n; i++) {
		char *name = names->name[i];

		if (RD_ANY(d, seen.dev, seen.n, !strcmp(d->name, name)))
			names->name[kept++] = name;
		else
			free(name);
	}
	names->n = kept;
	rd_nldev_free(&seen);
}

static int devices_load(
	struct rd_devices *devices, const char *sysroot, bool glance, struct rd_error *err)
{
	struct rd_names names = {0};
	int ret = 0;

	*devices = (struct rd_devices){.sysroot = copy_root(sysroot)};
	if (!devices->sysroot)
		goto no_memory;
	if (list_devices(&names, devices->sysroot, err)) {
		rd_devices_free(devices);
		return -1;
	}
	keep_own(devices, &names);
	devices->dev = names.n ? calloc(names.n, sizeof(*devices->dev)) : NULL;
	if (names.n && !devices->dev)
		goto no_memory;
	while (devices->n < names.n && !ret) {
		ret = load_device(&devices->dev[devices->n], devices->sysroot,
			names.name[devices->n], glance);
		devices->n++;
	}
	if (ret)
		goto no_memory;
	rd_names_free(&names);
	return 0;
no_memory:
	rd_names_free(&names);
	rd_devices_free(devices);
	return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot list the RDMA devices");
}

int rd_devices_load(struct rd_devices *devices, const char *sysroot, struct rd_error *err)
{
	return devices_load(devices, sysroot, false, err);
}

int rd_devices_glance(struct rd_devices *devices, const char *sysroot, struct rd_error *err)
{
	return devices_load(devices, sysroot, true, err);
}

uint64_t rd_port_identity(const char *sysroot, const char *device, unsigned int port)
{
	struct stat st;

	return rd_sysfs_stat(&st, "%s/sys/class/infiniband/%s/ports/%u", sysroot, device, port)
		       ? 0
		       : st.st_ino;
}

void device_free(struct rd_device *device)
{
	for (unsigned int p = 0; p < device->n_ports; p++)
		free(device->ports[p].gids);
	free(device->ports);
	free(device->representors);
}

void rd_devices_free(struct rd_devices *devices)
{
	for (size_t i = 0; i < devices->n; i++)
		device_free(&devices->dev[i]);
	free(devices->dev);
	free(devices->sysroot);
	*devices = (struct rd_devices){0};
}
