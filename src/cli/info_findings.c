/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What of a device deserves a look before all else. */
#include "info.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void found(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void found(json_t *list, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(list, json_string(text));
}

static void find_pci(const struct rd_info *info, json_t *list)
{
	const struct rd_pci_link *pci = &info->pci;

	if (pci->width && pci->width < pci->max_width)
		found(list, "the PCI link has %u of %u lanes: look at slot, riser and bifurcation",
			pci->width, pci->max_width);
	if (isdigit((unsigned char)*pci->speed) && isdigit((unsigned char)*pci->max_speed) &&
		rd_version_compare(pci->speed, pci->max_speed) < 0)
		found(list, "the PCI link runs at %s, it could at %s: look at slot and BIOS",
			pci->speed, pci->max_speed);
}

static const struct rd_firmware_version *find_version(
	const struct rd_info *info, const char *name, int kind)
{
	for (size_t i = 0; i < info->n_firmware; i++)
		if ((int)info->firmware[i].kind == kind && !strcmp(info->firmware[i].name, name))
			return &info->firmware[i];
	return NULL;
}

static void find_firmware(const struct rd_info *info, json_t *list)
{
	const struct rd_firmware_version *stored = find_version(info, "fw.version", RD_FW_STORED);
	const struct rd_firmware_version *running = find_version(info, "fw.version", RD_FW_RUNNING);
	const struct rd_device *d = info->device;

	if (stored && running && rd_version_compare(stored->value, running->value))
		found(list, "firmware %s runs, %s is stored: it starts with the next reset",
			running->value, stored->value);
	if (*d->fw && *info->verbs_fw && rd_version_compare(d->fw, info->verbs_fw))
		found(list, "sysfs says firmware %s, the device %s", d->fw, info->verbs_fw);
	if (*info->mlx5.psid && *d->board_id && strcmp(info->mlx5.psid, d->board_id))
		found(list, "sysfs says PSID %s, the device %s", d->board_id, info->mlx5.psid);
}

static void find_modules(const struct rd_info *info, json_t *list)
{
	const struct rd_module *a = &info->modules[0], *b = &info->modules[1];

	if (a->loaded && *b->name && !b->loaded)
		found(list, "%s is loaded, %s is not: modprobe %s", a->name, b->name, b->name);
	if (a->origin && b->origin && a->origin != b->origin)
		found(list, "%s and %s are not from the same place", a->name, b->name);
}

static void find_ports(const struct rd_info *info, json_t *list)
{
	for (unsigned int i = 0; i < info->device->n_ports; i++) {
		const struct rd_port *port = &info->device->ports[i];

		if (*port->state && strcmp(port->state, "active"))
			found(list, "port %u is %s%s%s", port->num, port->state,
				*port->phys_state ? ", physically " : "", port->phys_state);
	}
}

json_t *rd_info_findings(const struct rd_info *info)
{
	json_t *list = json_array();

	find_pci(info, list);
	find_firmware(info, list);
	find_modules(info, list);
	find_ports(info, list);
	return list;
}
