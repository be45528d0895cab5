/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RoCE settings, wherever drivers expose them: traffic class and TTL (MLNX_OFED's sysfs), DCQCN
 * (mlx5's debugfs and the netdev's ecn folder), rdma_cm's defaults (configfs).
 */
#include "info_parts.h"
#include "sysfs.h"
#include <limits.h>
#include <string.h>

#define FILES_MAX 64 /* files of one folder */

/* MLNX_OFED has files of several lines ("Global tclass=106"), which are joined. */
static void add_file(struct rd_attrs *attrs, const char *key, const char *title, const char *path)
{
	char text[128];

	if (!rd_sysfs_text(text, sizeof(text), "%s", path) && *text)
		rd_attrs_text(attrs, key, title, text);
}

/* The key of FILE is "PREFIX.FILE". Subdirectories are skipped. */
static void add_folder(struct rd_attrs *attrs, const char *prefix, const char *path)
{
	struct rd_names names;

	if (rd_sysfs_list(&names, "%s", path))
		return;
	for (size_t i = 0; i < names.n && i < FILES_MAX; i++) {
		char key[48], file[PATH_MAX];

		snprintf(key, sizeof(key), "%s.%s", prefix, names.name[i]);
		if (snprintf(file, sizeof(file), "%s/%s", path, names.name[i]) < (int)sizeof(file))
			add_file(attrs, key, key, file);
	}
	rd_names_free(&names);
}

/* ecn/roce_np/enable/0..7: one switch per priority, read together as "11111111". */
static void add_priorities(struct rd_attrs *f, const char *key, const char *title, const char *path)
{
	char enabled[9] = "";

	for (unsigned int i = 0; i < 8; i++) {
		uint64_t on;

		if (rd_sysfs_u64(&on, "%s/%u", path, i))
			return;
		enabled[i] = on ? '1' : '0';
		enabled[i + 1] = '\0';
	}
	rd_attrs_text(f, key, title, enabled);
}

static void add_ecn(struct rd_attrs *f, const char *root, const char *netdev)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/sys/class/net/%s/ecn/roce_np/enable", root, netdev);
	add_priorities(f, "ecn.roce_np.enable", "ECN marks answered, priority 0-7", path);
	snprintf(path, sizeof(path), "%s/sys/class/net/%s/ecn/roce_rp/enable", root, netdev);
	add_priorities(f, "ecn.roce_rp.enable", "CNPs obeyed, priority 0-7", path);
	snprintf(path, sizeof(path), "%s/sys/class/net/%s/ecn/roce_np", root, netdev);
	add_folder(f, "ecn.roce_np", path);
	snprintf(path, sizeof(path), "%s/sys/class/net/%s/ecn/roce_rp", root, netdev);
	add_folder(f, "ecn.roce_rp", path);
}

void rd_roce_settings(struct rd_attrs *f, const struct rd_device *device,
	const struct rd_port *port, const char *root)
{
	static const struct {
		const char *key, *title, *fmt;
	} files[] = {
		{"traffic_class", "traffic class",
			"%s/sys/class/infiniband/%s/tc/%u/traffic_class"},
		{"ttl", "TTL", "%s/sys/class/infiniband/%s/ttl/%u/ttl"},
		{"rdma_cm.default_roce_mode", "rdma_cm's RoCE mode",
			"%s/sys/kernel/config/rdma_cm/%s/ports/%u/default_roce_mode"},
		{"rdma_cm.default_roce_tos", "rdma_cm's TOS",
			"%s/sys/kernel/config/rdma_cm/%s/ports/%u/default_roce_tos"},
	};
	char path[512];

	/* A name that is not a valid file name cannot be looked up. */
	if (strchr(device->name, '/'))
		return;
	for (size_t i = 0; i < RD_COUNT(files); i++) {
		snprintf(path, sizeof(path), files[i].fmt, root, device->name, port->num);
		add_file(f, files[i].key, files[i].title, path);
	}
	if (port->link != RD_LINK_ETHERNET)
		return;
	if (port->n_netdevs)
		add_ecn(f, root, port->netdevs[0].name);
	if (*device->pci) {
		snprintf(path, sizeof(path), "%s/sys/kernel/debug/mlx5/%s/cc_params", root,
			device->pci);
		add_folder(f, "cc_params", path);
	}
}
