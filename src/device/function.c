/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Physical, virtual and sub-functions, and the netdevs that represent them (kernel:
 * Documentation/networking/devlink/devlink-port.rst; names of representors as
 * net/core/devlink.c makes them: "p0", "pf0vf3", "c1pf0sf88").
 */
#include "discovery.h"
#include "info_parts.h"
#include "sysfs.h"
#include <ctype.h>
#include <rdmadump/memory.h>
#include <rdmadump/names.h>
#include <string.h>

#define VFS_MAX 512 /* links virtfnN looked through */

RD_NAMES(rd_function_name, "", [RD_FUNCTION_PF] = "PF", [RD_FUNCTION_VF] = "VF",
	[RD_FUNCTION_SF] = "SF", [RD_FUNCTION_UPLINK] = "uplink")

/* "c1", "pf0": a word and its number; -1 if it is absent. */
static int take_number(const char **at, const char *word, uint32_t *number)
{
	size_t n = strlen(word), used;
	uint64_t value = 0;

	if (strncmp(*at, word, n) || !isdigit((unsigned char)(*at)[n]))
		return -1;
	for (used = n; isdigit((unsigned char)(*at)[used]); used++) {
		value = value * 10 + (uint64_t)((*at)[used] - '0');
		if (value > UINT32_MAX)
			return -1;
	}
	*number = (uint32_t)value;
	*at += used;
	return 0;
}

int rd_representor_parse(const char *name, struct rd_representor *rep)
{
	*rep = (struct rd_representor){0};
	if (!take_number(&name, "c", &rep->controller))
		rep->has_controller = true;
	if (!rep->has_controller && !take_number(&name, "p", &rep->number))
		rep->kind = RD_FUNCTION_UPLINK;
	else if (take_number(&name, "pf", &rep->pf))
		return -1;
	else if (!take_number(&name, "vf", &rep->number))
		rep->kind = RD_FUNCTION_VF;
	else if (!take_number(&name, "sf", &rep->number))
		rep->kind = RD_FUNCTION_SF;
	else
		rep->kind = RD_FUNCTION_PF;
	return *name ? -1 : 0;
}

/* Which of its PF's virtual functions this one is: the PF links to each by its number. */
static bool find_vf_number(const char *base, const char *pci, uint32_t *number)
{
	char text[64];

	for (uint32_t i = 0; i < VFS_MAX; i++) {
		if (rd_sysfs_link(text, sizeof(text), "%s/device/physfn/virtfn%u", base, i))
			return false;
		if (!strcmp(text, pci)) {
			*number = i;
			return true;
		}
	}
	return false;
}

/* Only in this mode the netdev's phys_switch_id can be read. */
static bool is_switchdev(const char *base)
{
	struct rd_names names;
	char text[64];
	bool switchdev = false;

	if (rd_sysfs_list(&names, "%s/device/net", base))
		return false;
	for (size_t i = 0; i < names.n && !switchdev; i++)
		switchdev = !rd_sysfs_text(text, sizeof(text), "%s/device/net/%s/phys_switch_id",
				    base, names.name[i]) &&
			    *text;
	rd_names_free(&names);
	return switchdev;
}

/* Kernels of RHEL (".el8", also Oracle's "el8uek") and SUSE have drivers of later ones. */
static bool has_backports(const char *release)
{
	const char *el = strstr(release, ".el"), *suse = strstr(release, "-default");

	return (el && isdigit((unsigned char)el[3])) || (suse && !suse[strlen("-default")]);
}

/*
 * Linux before 5.10 indexes an array by the port -1 when a sniffer is created in switchdev mode
 * (fixed by "RDMA/mlx5: Enable sniffer when device is in switchdev mode"). The kernel's number
 * says which driver that is only if the driver is the kernel's own, and is not of a distribution
 * that takes drivers from later ones. A kernel whose version cannot be read is taken for newer.
 */
static void judge_switchdev(struct rd_device *device, const char *root, const char *base)
{
	struct rd_module modules[2] = {{.name = ""}};
	char release[64];
	bool other;

	if (strcmp(device->driver, "mlx5_core") != 0 ||
		rd_sysfs_text(release, sizeof(release), "%s/proc/sys/kernel/osrelease", root) ||
		!isdigit((unsigned char)*release) || rd_version_compare(release, "5.10") >= 0 ||
		!is_switchdev(base))
		return;
	rd_modules_load(modules, device, root);
	other = modules[1].origin == RD_ORIGIN_OFED || modules[1].origin == RD_ORIGIN_OTHER;
	device->unsure_switchdev = other || has_backports(release);
	device->old_switchdev = !device->unsure_switchdev;
}

/* The function's netdevs whose port name says that they represent another function. */
static void load_representors(struct rd_device *device, const char *base)
{
	struct rd_names names;

	if (rd_sysfs_list(&names, "%s/device/net", base))
		return;
	for (size_t i = 0; i < names.n && device->n_representors < RD_REPRESENTORS_MAX; i++) {
		struct rd_representor rep, *added;
		char text[32];

		rd_sysfs_text(
			text, sizeof(text), "%s/device/net/%s/phys_port_name", base, names.name[i]);
		if (strlen(names.name[i]) >= sizeof(rep.netdev) ||
			rd_representor_parse(text, &rep) || rep.kind == RD_FUNCTION_UPLINK)
			continue;
		rd_text_clean(rep.netdev, sizeof(rep.netdev), names.name[i]);
		added = rd_append(&device->representors, device->n_representors, sizeof(*added));
		if (!added)
			break;
		device->n_representors++;
		*added = rep;
	}
	rd_names_free(&names);
}

void rd_function_load(struct rd_device *device, const char *root, const char *base)
{
	struct rd_function *f = &device->function;
	uint64_t sfnum;

	if (!*device->pci)
		return;
	f->kind = RD_FUNCTION_PF;
	if (!rd_sysfs_u64(&sfnum, "%s/device/sfnum", base) && sfnum <= UINT32_MAX) {
		f->kind = RD_FUNCTION_SF;
		f->number = (uint32_t)sfnum;
		f->has_number = true;
		snprintf(f->parent, sizeof(f->parent), "%s", device->pci);
	} else if (!rd_sysfs_link(f->parent, sizeof(f->parent), "%s/device/physfn", base)) {
		f->kind = RD_FUNCTION_VF;
		f->has_number = find_vf_number(base, device->pci, &f->number);
	} else {
		f->n_vfs = rd_sysfs_u32("%s/device/sriov_numvfs", base);
		f->max_vfs = rd_sysfs_u32("%s/device/sriov_totalvfs", base);
	}
	load_representors(device, base);
	judge_switchdev(device, root, base);
}

static uint32_t count_representors(const struct rd_device *device, enum rd_function_kind kind)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < device->n_representors; i++) {
		const struct rd_representor *rep = &device->representors[i];

		n += rep->kind == kind && !(rep->has_controller && rep->controller);
	}
	return n;
}

bool rd_sniffer_is_of_function(const struct rd_device *device)
{
	return !strcmp(device->driver, "mlx5_core");
}

const struct rd_netdev *rd_device_bond(const struct rd_device *device)
{
	for (unsigned int p = 0; p < device->n_ports; p++)
		for (unsigned int i = 0; i < device->ports[p].n_netdevs; i++)
			if (*device->ports[p].netdevs[i].slaves)
				return &device->ports[p].netdevs[i];
	return NULL;
}

struct rd_other_functions rd_other_functions(
	const struct rd_devices *devices, const struct rd_device *device)
{
	struct rd_other_functions others = {device->function.n_vfs, 0};
	uint32_t vf_reps = count_representors(device, RD_FUNCTION_VF);
	uint32_t sf_reps = count_representors(device, RD_FUNCTION_SF);

	if (device->function.kind != RD_FUNCTION_PF || !rd_sniffer_is_of_function(device))
		return (struct rd_other_functions){0, 0};
	for (size_t i = 0; i < devices->n; i++) {
		const struct rd_function *f = &devices->dev[i].function;

		others.sfs += f->kind == RD_FUNCTION_SF && !strcmp(f->parent, device->pci);
	}
	/* An SF may have no RDMA device here, a VF be another machine's: representors show them. */
	others.vfs = RD_MAX(others.vfs, vf_reps);
	others.sfs = RD_MAX(others.sfs, sf_reps);
	return others;
}

void rd_other_functions_text(struct rd_other_functions others, char *buf, size_t size)
{
	char vfs[20] = "", sfs[20] = "";

	if (others.vfs)
		snprintf(vfs, sizeof(vfs), "%u VF%s", others.vfs, others.vfs > 1 ? "s" : "");
	if (others.sfs)
		snprintf(sfs, sizeof(sfs), "%u SF%s", others.sfs, others.sfs > 1 ? "s" : "");
	snprintf(buf, size, "%s%s%s%s", *vfs || *sfs ? "its " : "", vfs,
		*vfs && *sfs ? " and " : "", sfs);
}

void rd_function_text(const struct rd_function *f, char *buf, size_t size)
{
	if (f->kind == RD_FUNCTION_PF && f->n_vfs)
		snprintf(buf, size, "PF with %u VFs", f->n_vfs);
	else if (f->has_number)
		snprintf(buf, size, "%s %u of %s", rd_function_name(f->kind), f->number, f->parent);
	else if (*f->parent)
		snprintf(buf, size, "%s of %s", rd_function_name(f->kind), f->parent);
	else
		snprintf(buf, size, "%s", rd_function_name(f->kind));
}
