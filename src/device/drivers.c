/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel modules of a device and where they come from (kernel: Documentation/ABI/stable/
 * sysfs-module; MLNX_OFED and DOCA load mlx_compat and put modules below updates/ or extra/).
 */
#include "info_parts.h"
#include "sysfs.h"
#include <string.h>
#include <sys/utsname.h>

static const struct driver {
	const char *nic, *rdma; /* modules; nic: the driver's name in struct rd_device */
	const char *provider;	/* libibverbs provider */
} drivers[] = {
	{"mlx5_core", "mlx5_ib", "mlx5"},
	{"mlx4_core", "mlx4_ib", "mlx4"},
	{"bnxt_en", "bnxt_re", "bnxt_re"},
	{"ice", "irdma", "irdma"},
	{"i40e", "irdma", "irdma"},
	{"idpf", "irdma", "irdma"},
	{"iavf", "irdma", "irdma"},
	{"qede", "qedr", "qedr"},
	{"hns3", "hns_roce_hw_v2", "hns"},
	{"cxgb4", "iw_cxgb4", "cxgb4"},
	{"be2net", "ocrdma", "ocrdma"},
	{"ionic", "ionic_rdma", "ionic"},
	{"mana", "mana_ib", "mana"},
	{"efa", NULL, "efa"},
	{"erdma", NULL, "erdma"},
	{"hfi1", NULL, "hfi1verbs"},
	{"ib_qib", NULL, "ipathverbs"},
	{"ib_mthca", NULL, "mthca"},
	{"vmw_pvrdma", NULL, "vmw_pvrdma"},
	{"rdma_rxe", NULL, "rxe"},
	{"siw", NULL, "siw"},
};

static const struct driver *driver_of(const struct rd_device *device)
{
	return RD_FIND(d, drivers, RD_COUNT(drivers), !strcmp(d->nic, device->driver));
}

const char *rd_provider_name(const struct rd_device *device)
{
	const struct driver *driver = driver_of(device);

	return driver ? driver->provider : "";
}

/* File names may have '-' where the kernel uses '_'. */
static bool is_file_of(const char *path, size_t n, const char *module)
{
	size_t len = strlen(module), start = n;

	while (start && path[start - 1] != '/')
		start--;
	if (n - start < len + 3 || strncmp(path + start + len, ".ko", 3))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((path[start + i] == '-' ? '_' : path[start + i]) != module[i])
			return false;
	return true;
}

/* "kernel/drivers/net/.../mlx5_core.ko.xz" from the list that depmod wrote. */
static void find_path(struct rd_module *module, const char *root)
{
	char path[512], line[4096];
	struct utsname u;
	FILE *f;

	uname(&u);
	snprintf(path, sizeof(path), "%s/lib/modules/%s/modules.dep", root, u.release);
	f = fopen(path, "re");
	while (f && !*module->path && fgets(line, sizeof(line), f)) {
		size_t n = strcspn(line, ":");

		line[n] = '\0';
		if (is_file_of(line, n, module->name))
			rd_text_clean(module->path, sizeof(module->path), line);
	}
	if (f)
		fclose(f);
}

static enum rd_origin origin_of(const struct rd_module *module, const char *root)
{
	char taint[16];

	rd_sysfs_text(taint, sizeof(taint), "%s/sys/module/%s/taint", root, module->name);
	if (!strncmp(module->path, "kernel/", 7) && !strchr(taint, 'O'))
		return RD_ORIGIN_KERNEL;
	if (!strchr(taint, 'O') && !*module->path)
		return rd_sysfs_exists("%s/sys/module/%s/taint", root, module->name)
			       ? RD_ORIGIN_KERNEL
			       : RD_ORIGIN_UNKNOWN;
	return rd_sysfs_exists("%s/sys/module/mlx_compat", root) ? RD_ORIGIN_OFED : RD_ORIGIN_OTHER;
}

static void load_module(struct rd_module *module, const char *name, const char *root)
{
	snprintf(module->name, sizeof(module->name), "%s", name);
	module->loaded = rd_sysfs_exists("%s/sys/module/%s", root, name);
	if (!module->loaded)
		return;
	rd_sysfs_text(
		module->version, sizeof(module->version), "%s/sys/module/%s/version", root, name);
	rd_sysfs_text(module->srcversion, sizeof(module->srcversion), "%s/sys/module/%s/srcversion",
		root, name);
	/* A copied tree is from a machine whose kernel release is unknown. */
	if (!*root)
		find_path(module, root);
	module->origin = origin_of(module, root);
}

void rd_modules_load(struct rd_module modules[2], const struct rd_device *device, const char *root)
{
	const struct driver *driver = driver_of(device);

	/* Unknown if the tree was copied without them. */
	if (!rd_sysfs_exists("%s/sys/module", root))
		return;
	if (*device->driver && !strchr(device->driver, '/'))
		load_module(&modules[0], device->driver, root);
	if (driver && driver->rdma)
		load_module(&modules[1], driver->rdma, root);
}
