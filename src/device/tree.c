/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks the files that the readers in this folder read. Each symbolic link on the path to a file is
 * an item of its own, so that a copy has the kernel's layout.
 */
#include "info_parts.h"
#include "sysfs.h"
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <rdmadump/tree.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40 /* on one path, as in the kernel */
#define DEPTH_MAX 8  /* levels of directories below a place */

struct walk {
	const char *root;
	rd_tree_fn *fn;
	void *ctx;
	void *seen; /* tsearch(): paths */
	size_t n_items;
	int status;
};

/* The kind of object that "%s" in a place stands for. */
enum per { PER_MACHINE, PER_DEVICE, PER_NETDEV, PER_PCI, PER_MODULE };

/*
 * A place ends in a name or pattern of files, or in "/": everything below except links. Each place
 * is read by a function of this folder.
 */
static const struct place {
	enum per per;
	const char *path;
} places[] = {
	{PER_MACHINE, "sys"},
	{PER_MACHINE, "sys/class/infiniband"},
	{PER_MACHINE, "sys/module/mlx_compat"},
	{PER_MACHINE, "sys/module/mlx4_core/parameters/log_num_mgm_entry_size"},
	{PER_MACHINE, "sys/kernel/security/lockdown"},
	{PER_MACHINE, "proc/sys/kernel/osrelease"},
	{PER_DEVICE, "sys/class/infiniband/%s/"},
	{PER_DEVICE, "sys/class/infiniband/%s/device/hw_counters/"},
	{PER_DEVICE, "sys/kernel/config/rdma_cm/%s/"},
	{PER_NETDEV, "sys/class/net/%s/address"},
	{PER_NETDEV, "sys/class/net/%s/mtu"},
	{PER_NETDEV, "sys/class/net/%s/ifindex"},
	{PER_NETDEV, "sys/class/net/%s/operstate"},
	{PER_NETDEV, "sys/class/net/%s/uevent"},
	{PER_NETDEV, "sys/class/net/%s/parent"},
	{PER_NETDEV, "sys/class/net/%s/phys_port_name"},
	{PER_NETDEV, "sys/class/net/%s/phys_switch_id"},
	{PER_NETDEV, "sys/class/net/%s/dev_port"},
	{PER_NETDEV, "sys/class/net/%s/dev_id"},
	{PER_NETDEV, "sys/class/net/%s/bonding/slaves"},
	{PER_NETDEV, "sys/class/net/%s/statistics/"},
	{PER_NETDEV, "sys/class/net/%s/ecn/"},
	{PER_PCI, "sys/kernel/debug/mlx5/%s/cc_params/"},
	{PER_MODULE, "sys/module/%s/version"},
	{PER_MODULE, "sys/module/%s/srcversion"},
	{PER_MODULE, "sys/module/%s/taint"},
};

/* Files of a device's function and of its parents (a subfunction's `device` is auxiliary). */
static const char *const function_files[] = {"uevent", "driver", "vendor", "device",
	"subsystem_vendor", "subsystem_device", "current_link_speed", "current_link_width",
	"max_link_speed", "max_link_width", "numa_node", "local_cpulist", "sriov_numvfs",
	"sriov_totalvfs", "sfnum", "physfn", "physfn/virtfn*"};

static const char *const netdev_files[] = {
	"phys_port_name", "phys_switch_id", "dev_port", "dev_id"};

/* --- items -------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* True the first time. Out of memory ends the walk. */
static bool is_new(struct walk *w, const char *path)
{
	char *copy = strdup(path), **found;

	found = copy ? tsearch(copy, &w->seen, by_text) : NULL;
	if (!found) {
		free(copy);
		w->status = -1;
		return false;
	}
	if (*found == copy)
		return true;
	free(copy);
	return false;
}

static void put(
	struct walk *w, enum rd_tree_kind kind, const char *path, const char *bytes, size_t n)
{
	struct rd_tree_item item = {kind, path, bytes, n};

	if (w->status || !is_new(w, path))
		return;
	if (w->n_items++ == RD_TREE_ITEMS)
		item.kind = RD_TREE_CUT;
	if (w->n_items <= RD_TREE_ITEMS + 1)
		w->status = w->fn(w->ctx, &item);
}

static void put_file(struct walk *w, const char *path)
{
	char bytes[RD_SYSFS_MAX + 1];
	ssize_t n = rd_sysfs_bytes(bytes, RD_SYSFS_MAX, "%s/%s", w->root, path);

	if (n < 0 && (errno == EACCES || errno == EPERM))
		put(w, RD_TREE_UNREADABLE, path, "", 0);
	if (n < 0)
		return;
	bytes[n] = '\0';
	put(w, RD_TREE_FILE, path, bytes, (size_t)n);
}

/* --- paths -------------------------------------------------------------------------------- */

/* Removes the first component of `rest` and returns it; NULL at the end. */
static char *next_component(char **rest)
{
	char *part;

	while (**rest == '/')
		(*rest)++;
	part = *rest;
	if (!*part)
		return NULL;
	*rest += strcspn(part, "/");
	if (**rest)
		*(*rest)++ = '\0';
	return part;
}

static int append(char at[PATH_MAX], const char *name)
{
	const size_t n = strlen(at), room = PATH_MAX - n;

	return snprintf(at + n, room, "%s%s", n ? "/" : "", name) < (int)room ? 0 : -1;
}

static int go_up(char at[PATH_MAX])
{
	char *slash = strrchr(at, '/');

	if (!*at)
		return -1;
	*(slash ? slash : at) = '\0';
	return 0;
}

/* The target of the link root/at; "" if it is not a link. */
static void read_link(const struct walk *w, const char *at, char target[PATH_MAX])
{
	char full[PATH_MAX];
	ssize_t n = -1;

	if (snprintf(full, sizeof(full), "%s/%s", w->root, at) < (int)sizeof(full))
		n = readlink(full, target, PATH_MAX - 1);
	target[n > 0 ? n : 0] = '\0';
}

/* Adds the links on the path, and stores the path that it resolves to in `at`. -1: outside the
 * root, or too long. */
static int resolve(struct walk *w, const char path[PATH_MAX], char at[PATH_MAX])
{
	char left[2 * PATH_MAX], target[PATH_MAX], joined[2 * PATH_MAX], *rest = left, *part;
	unsigned int links = 0;

	at[0] = '\0';
	snprintf(left, sizeof(left), "%s", path);
	while ((part = next_component(&rest))) {
		if (strcmp(part, "..") == 0) {
			if (go_up(at) < 0)
				return -1;
			continue;
		}
		if (append(at, part) < 0)
			return -1;
		read_link(w, at, target);
		if (!*target)
			continue;
		put(w, RD_TREE_LINK, at, target, strlen(target));
		if (*target == '/' || links++ == LINKS_MAX || go_up(at) < 0 ||
			snprintf(joined, sizeof(joined), "%s/%s", target, rest) >=
				(int)sizeof(joined))
			return -1;
		memcpy(left, joined, sizeof(left));
		rest = left;
	}
	return 0;
}

/* One path, without patterns. */
static void take(struct walk *w, const char path[PATH_MAX])
{
	char at[PATH_MAX];
	struct stat st;

	if (resolve(w, path, at) < 0 || rd_sysfs_stat(&st, "%s/%s", w->root, at) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		put(w, RD_TREE_DIRECTORY, at, "", 0);
	else if (S_ISREG(st.st_mode))
		put_file(w, at);
}

/* Everything below a directory whose path has no links. */
static void take_below(struct walk *w, const char *dir, unsigned int depth)
{
	char path[PATH_MAX], target[PATH_MAX];
	struct rd_names names;
	struct stat st;

	if (rd_sysfs_list(&names, "%s/%s", w->root, dir))
		return;
	for (size_t i = 0; i < names.n && !w->status; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", dir, names.name[i]) >= (int)sizeof(path))
			continue;
		read_link(w, path, target);
		if (*target || rd_sysfs_stat(&st, "%s/%s", w->root, path) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth)
			take_below(w, path, depth - 1);
		else if (S_ISREG(st.st_mode))
			put_file(w, path);
	}
	rd_names_free(&names);
}

static void take_matching(struct walk *w, const char *path)
{
	const char *slash = strrchr(path, '/');
	int dir = (int)(slash - path);
	struct rd_names names;
	char one[PATH_MAX];

	if (rd_sysfs_list(&names, "%s/%.*s", w->root, dir, path))
		return;
	for (size_t i = 0; i < names.n && !w->status; i++)
		if (fnmatch(slash + 1, names.name[i], 0) == 0 &&
			snprintf(one, sizeof(one), "%.*s/%s", dir, path, names.name[i]) <
				(int)sizeof(one))
			take(w, one);
	rd_names_free(&names);
}

static void take_place(struct walk *w, const char *path)
{
	size_t n = strlen(path);
	char at[PATH_MAX];

	if (path[n - 1] == '/') {
		take(w, path);
		if (resolve(w, path, at) == 0)
			take_below(w, at, DEPTH_MAX);
	} else if (strchr(path, '*')) {
		take_matching(w, path);
	} else {
		take(w, path);
	}
}

/* A name from sysfs is one component. */
static void take_places(struct walk *w, enum per per, const char *name)
{
	char path[PATH_MAX];

	if (per != PER_MACHINE && (!*name || strchr(name, '/') || *name == '.'))
		return;
	for (size_t i = 0; i < RD_COUNT(places) && !w->status; i++)
		if (places[i].per == per &&
			snprintf(path, sizeof(path), places[i].path, name) < (int)sizeof(path))
			take_place(w, path);
}

/* --- devices ------------------------------------------------------------------------------ */

static void take_function(struct walk *w, const char *device)
{
	static const char *const ups[] = {"", "/..", "/../.."};
	char path[PATH_MAX];

	for (size_t u = 0; u < RD_COUNT(ups); u++)
		for (size_t i = 0; i < RD_COUNT(function_files); i++) {
			snprintf(path, sizeof(path), "sys/class/infiniband/%s/device%s/%s", device,
				ups[u], function_files[i]);
			take_place(w, path);
		}
}

/* Adds the netdevs of a function: those of its ports, and representors. */
static void take_function_netdevs(struct walk *w, const char *device)
{
	char path[PATH_MAX];
	struct rd_names names;

	if (rd_sysfs_list(&names, "%s/sys/class/infiniband/%s/device/net", w->root, device))
		return;
	for (size_t i = 0; i < names.n && !w->status; i++) {
		for (size_t k = 0; k < RD_COUNT(netdev_files); k++) {
			if (snprintf(path, sizeof(path), "sys/class/infiniband/%s/device/net/%s/%s",
				    device, names.name[i], netdev_files[k]) < (int)sizeof(path))
				take(w, path);
		}
		take_places(w, PER_NETDEV, names.name[i]);
	}
	rd_names_free(&names);
}

static void take_port(struct walk *w, const struct rd_port *port)
{
	for (unsigned int i = 0; i < port->n_netdevs; i++)
		take_places(w, PER_NETDEV, port->netdevs[i].name);
	for (unsigned int i = 0; i < port->n_gids; i++)
		if (!i || strcmp(port->gids[i].ndev, port->gids[i - 1].ndev) != 0)
			take_places(w, PER_NETDEV, port->gids[i].ndev);
}

static void take_device(struct walk *w, const struct rd_device *device)
{
	struct rd_module modules[2] = {{.name = ""}};

	if (strchr(device->name, '/'))
		return;
	take_places(w, PER_DEVICE, device->name);
	take_function(w, device->name);
	take_function_netdevs(w, device->name);
	for (unsigned int i = 0; i < device->n_ports; i++)
		take_port(w, &device->ports[i]);
	take_places(w, PER_PCI, device->pci);
	rd_modules_load(modules, device, w->root);
	take_places(w, PER_MODULE, modules[0].name);
	take_places(w, PER_MODULE, modules[1].name);
}

int rd_tree_walk(const struct rd_devices *devices, rd_tree_fn *fn, void *ctx)
{
	struct walk w = {.root = devices->sysroot, .fn = fn, .ctx = ctx};

	take_places(&w, PER_MACHINE, "");
	for (size_t i = 0; i < devices->n && !w.status; i++)
		take_device(&w, &devices->dev[i]);
	tdestroy(w.seen, free);
	return w.status;
}
