/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files as attributes, and the list of a device's files in sysfs other than counters (kernel:
 * drivers/infiniband/hw/mlx5/main.c, Documentation/ABI/testing/sysfs-devices-power; mr_cache/rel_*:
 * MLNX_OFED's driver).
 */
#include "info_parts.h"
#include "sysfs.h"
#include <limits.h>
#include <stdio.h>

#define FILES_MAX 64 /* files of one folder */

/* MLNX_OFED has files of several lines ("Global tclass=106"), which are joined. */
void rd_attr_file(struct rd_attrs *attrs, const char *key, const char *title, const char *path)
{
	char text[128];

	if (!rd_sysfs_text(text, sizeof(text), "%s", path) && *text)
		rd_attrs_text(attrs, key, title, text);
}

static void add_number_file(
	struct rd_attrs *attrs, const char *key, const char *title, const char *path)
{
	uint64_t number;

	if (!rd_sysfs_u64(&number, "%s", path))
		rd_attrs_number(attrs, key, title, number);
	else
		rd_attr_file(attrs, key, title, path);
}

void rd_attr_folder(struct rd_attrs *attrs, const char *prefix, const char *path,
	void (*append)(struct rd_attrs *, const char *, const char *, const char *))
{
	struct rd_names names;

	if (rd_sysfs_list(&names, "%s", path))
		return;
	for (size_t i = 0; i < names.n && i < FILES_MAX; i++) {
		char key[48], file[PATH_MAX];

		snprintf(key, sizeof(key), "%s.%s", prefix, names.name[i]);
		if (snprintf(file, sizeof(file), "%s/%s", path, names.name[i]) < (int)sizeof(file))
			append(attrs, key, key, file);
	}
	rd_names_free(&names);
}

static const struct attr_file {
	const char *file, *key, *title;
} device_files[] = {
	{"fw_pages", "fw_pages", "pages given to the firmware"},
	{"reg_pages", "reg_pages", "pages registered in MRs"},
	{"mr_cache/rel_imm", "mr_cache.rel_imm", "MR cache, release at once"},
	{"mr_cache/rel_timeout", "mr_cache.rel_timeout", "MR cache, release after, s"},
};

void rd_device_sysfs_attrs(struct rd_attrs *attrs, const char *base)
{
	char path[PATH_MAX + 32];

	for (size_t i = 0; i < sizeof(device_files) / sizeof(*device_files); i++) {
		snprintf(path, sizeof(path), "%s/%s", base, device_files[i].file);
		add_number_file(attrs, device_files[i].key, device_files[i].title, path);
	}
	snprintf(path, sizeof(path), "%s/power", base);
	rd_attr_folder(attrs, "power", path, add_number_file);
}

void rd_port_sysfs_attrs(struct rd_attrs *attrs, const char *base, unsigned int port)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/ports/%u/has_smi", base, port);
	add_number_file(attrs, "has_smi", "subnet management interface", path);
}
