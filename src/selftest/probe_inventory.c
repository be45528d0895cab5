/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the machine, the device and this process are: what every other result depends on. */
#include "../device/sysfs.h"
#include "selftest.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <rdmadump/info.h>
#include <rdmadump/json.h>
#include <rdmadump/notation.h>
#include <rdmadump/privilege.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A receive ring of 16384 jumbo frames needs more; captures use smaller rings below it. */
#define LOCKABLE_MIN ((uint64_t)64 << 20)

/* --- machine ------------------------------------------------------------------------------ */

/* The file of a shared library ends with its version: "libibverbs.so.1.14.44.0" is rdma-core 44. */
static void rdma_core(struct rd_probe_result *r)
{
	char *path = NULL, *version = NULL;
	Dl_info found;

	if (dladdr((const void *)(uintptr_t)ibv_open_device, &found) && found.dli_fname)
		path = realpath(found.dli_fname, NULL);
	if (path)
		version = strstr(path, ".so.");
	/* Without the ABI's two numbers: four with dots between them read as an address. */
	for (int i = 0; version && i < 3; i++)
		version = strchr(version + 1, '.');
	result_text(r, "rdma_core", version ? version + 1 : NULL);
	free(path);
}

static void machine(struct rd_probe_result *r)
{
	char hardware[320], os[320];
	struct utsname name;

	rd_machine_hardware(hardware, sizeof(hardware));
	rd_machine_os(os, sizeof(os));
	result_text(r, "machine", hardware);
	result_text(r, "os", os);
	if (uname(&name) == 0) {
		result_text(r, "kernel", name.release);
		result_text(r, "architecture", name.machine);
	}
	rdma_core(r);
	result_number(r, "page_size", "bytes", (uint64_t)sysconf(_SC_PAGESIZE));
	result_number(r, "cpus", "", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
}

/* --- device ------------------------------------------------------------------------------- */

static void function(const struct rd_device *d, struct rd_probe_result *r)
{
	result_text(r, "function", rd_function_name(d->function.kind));
	/* Only in switchdev mode are there representors. */
	result_text(r, "eswitch", d->n_representors ? "switchdev" : NULL);
	if (d->old_switchdev)
		result_found(r, "old_switchdev", "%s: %s", RD_OLD_SWITCHDEV, RD_OLD_SWITCHDEV_TODO);
	if (d->unsure_switchdev)
		result_found(r, "unsure_switchdev", "%s", RD_UNSURE_SWITCHDEV);
	if (d->function.kind == RD_FUNCTION_VF || d->function.kind == RD_FUNCTION_SF)
		result_found(r, "no_pf",
			"this is a %s: its firmware may refuse a sniffer; captures see its own "
			"traffic alone",
			rd_function_name(d->function.kind));
}

/* A bond of ports is a device of its own (mlx5_bond_0); its netdev has the kernel's bond. */
static void bond(const struct rd_selftest *st, struct rd_probe_result *r)
{
	const struct rd_port *port = st->port;
	bool is_bond = strstr(st->device->name, "bond") != NULL;

	for (unsigned int i = 0; i < port->n_netdevs; i++)
		is_bond |=
			rd_sysfs_exists("/sys/class/net/%s/bonding", port->netdevs[i].name) ||
			rd_sysfs_exists("/sys/class/net/%s/master/bonding", port->netdevs[i].name);
	result_bool(r, "bond", is_bond);
	if (is_bond)
		result_found(r, "bond",
			"the port is part of a bond: frames of the other port may be absent");
}

static void addresses(const struct rd_selftest *st, struct rd_probe_result *r)
{
	const struct rd_port *port = st->port;
	char text[24], mac[RD_MAC_LEN];

	snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)st->device->node_guid);
	result_text(r, "node_guid", text);
	result_json(r, "netdevs",
		RD_JSON_LIST(n, port->netdevs, port->n_netdevs,
			json_pack("{s:s, s:s, s:i}", "name", n->name, "mac",
				rd_mac_text(mac, n->mac), "mtu", (int)n->mtu)));
}

/* Models are files: only real kernel devices are in sysfs. */
static const char *runs_on(const struct rd_device *d)
{
	char path[128];
	struct statfs fs;
	int fd, rc;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", d->name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	rc = fstatfs(fd, &fs);
	close(fd);
	if (rc < 0)
		return NULL;
	if (fs.f_type != SYSFS_MAGIC)
		return "model";
	return strcmp(d->driver, "rdma_rxe") && strcmp(d->driver, "siw") ? "adapter" : "software";
}

static void device(const struct rd_selftest *st, struct rd_probe_result *r)
{
	const struct rd_device *d = st->device;

	result_text(r, "runs_on", runs_on(d));
	result_text(r, "model", rd_device_model(d));
	result_text(r, "driver", d->driver);
	result_text(r, "firmware", d->fw);
	result_text(r, "psid", d->board_id);
	result_text(r, "pci", d->pci);
	result_text(r, "link", st->port->link == RD_LINK_INFINIBAND ? "InfiniBand" : "Ethernet");
	result_text(r, "state", st->port->state);
	result_text(r, "rate", st->port->rate);
	result_number(r, "ports", "", d->n_ports);
	function(d, r);
	bond(st, r);
	addresses(st, r);
	if (strcmp(st->port->state, "active"))
		result_found(r, "port_not_active",
			"the port is %s: there is nothing to capture until it is active",
			*st->port->state ? st->port->state : "in an unknown state");
}

/* What only rd_info_load() reads. */
static void details(const struct rd_selftest *st, struct rd_probe_result *r)
{
	struct rd_error err;
	struct rd_info info;

	if (rd_info_load(&info, st->device, "", &err) < 0) {
		result_failed(r, "%s", err.text);
		return;
	}
	if (*st->device->board_id == '\0' && *info.mlx5.psid)
		result_text(r, "psid", info.mlx5.psid);
	if (!info.opened)
		result_failed(r, "%s", info.closed_why);
	rd_info_free(&info);
}

/* --- this process ------------------------------------------------------------------------- */

/* In the first user namespace all users are mapped to themselves. */
static bool in_user_namespace(void)
{
	unsigned long inside = 1, outside = 1, n = 0;
	FILE *f = fopen("/proc/self/uid_map", "r");
	int got = f ? fscanf(f, "%lu %lu %lu", &inside, &outside, &n) : 0;

	if (f)
		fclose(f);
	return got == 3 && (inside || outside || n < UINT32_MAX);
}

static void process(struct rd_probe_result *r)
{
	bool raw = rd_has_capability(CAP_NET_RAW), lock = rd_has_capability(CAP_IPC_LOCK);
	uint64_t lockable = rd_lockable();

	result_bool(r, "cap_net_raw", raw);
	result_bool(r, "cap_ipc_lock", lock);
	result_bool(r, "cap_net_admin", rd_has_capability(CAP_NET_ADMIN));
	result_bool(r, "user_namespace", in_user_namespace());
	if (lockable != UINT64_MAX)
		result_number(r, "lockable", "bytes", lockable);
	if (!raw)
		result_found(r, "no_cap_net_raw", "a sniffer " RD_NEEDS_RAW);
	if (!lock && lockable < LOCKABLE_MIN)
		result_found(r, "little_lockable_memory",
			"receive rings must be small (%llu MiB can be locked): " RD_NEEDS_LOCK,
			(unsigned long long)(lockable >> 20));
	if (in_user_namespace())
		result_found(r, "user_namespace",
			"this is a container with its own user namespace: the kernel may refuse "
			"sniffers");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	const char *model = rd_device_model(st->device);

	machine(r);
	device(st, r);
	process(r);
	details(st, r);
	result_value(r, "%s %s", *model ? model : st->device->driver, st->device->fw);
	result_means(r, "nothing here prevents captures");
}

const struct rd_probe rd_probe_inventory = {.name = "inventory",
	.question = "what machine, device and process this is",
	.objects = "",
	.required = true,
	.run = run};
