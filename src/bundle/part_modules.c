/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loaded kernel modules that RDMA uses, and their parameters (kernel: Documentation/ABI/stable/
 * sysfs-module). */
#include "../device/sysfs.h"
#include "parts.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <rdmadump/json.h>
#include <stdlib.h>
#include <string.h>

#define LIST_BYTES ((size_t)256 << 10) /* limit of /proc/modules */

/* A module that uses one of these is also an RDMA module. */
static const char *const core[] = {
	"ib_core", "ib_cm", "rdma_cm", "ib_uverbs", "mlx5_core", "mlx4_core", "mlx_compat"};

/* Modules that matter for RDMA, but do not use these. */
static const char *const others[] = {"mlxfw", "mlxdevm", "bnxt_en", "ice", "i40e", "hns3", "ena",
	"nvidia", "nvidia_peermem", "nv_peer_mem", "gdrdrv", "vfio_pci", "mst_pci", "mst_pciconf",
	"knem", "xpmem", "8021q", "bonding"};

static void add_name(json_t *names, const char *name)
{
	json_object_set_new(names, name, json_true());
}

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	return RD_ANY(other, list, n, strcmp(name, *other) == 0);
}

/* "ib_core 417792 9 rdma_cm,mlx5_ib, Live 0x0": the fourth word lists users; "-" has no folder. */
static void add_users(json_t *names, char *users)
{
	char *save = NULL;

	for (char *u = strtok_r(users, ",", &save); u; u = strtok_r(NULL, ",", &save))
		add_name(names, u);
}

static void add_line(json_t *names, const char *line)
{
	char name[64], users[2048] = "";

	if (sscanf(line, "%63s %*s %*s %2047s", name, users) < 1)
		return;
	if (is_one_of(name, core, RD_COUNT(core))) {
		add_name(names, name);
		add_users(names, users);
	} else if (is_one_of(name, others, RD_COUNT(others))) {
		add_name(names, name);
	}
}

/* The set of names, as keys. */
static json_t *list_names(const struct rd_devices *devices)
{
	json_t *names = json_object();
	char *text = malloc(LIST_BYTES), *save = NULL;

	if (text && rd_sysfs_file(text, LIST_BYTES - 1, "/proc/modules") > 0)
		for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
			add_line(names, l);
	free(text);
	for (size_t i = 0; i < devices->n; i++)
		if (*devices->dev[i].driver && !strchr(devices->dev[i].driver, '/'))
			add_name(names, devices->dev[i].driver);
	return names;
}

static json_t *json_value(const char *module, const char *file)
{
	char path[PATH_MAX], text[4096];

	snprintf(path, sizeof(path), "/sys/module/%.100s/%.300s", module, file);
	return read_value(text, sizeof(text), path) < 0 ? json_null() : rd_json_string(text);
}

/* A parameter that only root may read is null. */
static json_t *json_parameters(const char *module)
{
	json_t *o = json_object();
	char path[PATH_MAX], file[300];
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/module/%.100s/parameters", module);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "parameters/%s", entry->d_name);
		json_object_set_new(o, entry->d_name, json_value(module, file));
	}
	if (dir)
		closedir(dir);
	return o;
}

json_t *part_modules(const struct rd_devices *devices, struct rd_error *err)
{
	json_t *names = list_names(devices), *list = json_array(), *unused;
	const char *name;

	json_object_foreach (names, name, unused) {
		char path[PATH_MAX];
		struct stat st;

		snprintf(path, sizeof(path), "/sys/module/%.100s", name);
		if (stat(path, &st) < 0)
			continue;
		json_array_append_new(list,
			json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", rd_json_string(name),
				"version", json_value(name, "version"), "srcversion",
				json_value(name, "srcversion"), "taint", json_value(name, "taint"),
				"parameters", json_parameters(name)));
	}
	json_decref(names);
	if (list)
		return json_pack("{s:o}", "modules", list);
	rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot list modules");
	return NULL;
}
