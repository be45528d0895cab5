/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump info`: what a support engineer needs to know first about a device, as text or JSON. */
#include "info.h"
#include "../commands.h"
#include "cli/command.h"
#include <ctype.h>
#include <rdmadump/clock.h>
#include <rdmadump/document.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GIDS_SHOWN 32 /* more would push the rest off the screen; JSON has all */

struct settings {
	const char *sysroot; /* "": this machine */
	const char *device;  /* NULL: not given */
	bool json, verbose;
};

#define OPTIONS_OF struct settings

static const struct cli_option options[] = {{"json", 0, NULL, "Print JSON", FLAG(json)},
	SYSROOT_OPTION("; the device itself is not queried"),
	{"verbose", 'v', NULL, "Show all limits, GIDs and QPs", FLAG(verbose)},
	ONE_WORD(device, "info takes one device")};

static void print_findings(const struct info_output *t)
{
	struct rd_findings list;

	if (rd_info_judge(&list, t->info) < 0)
		rd_log(RD_LOG_WARNING, "out of memory: findings about the device are missing");
	for (size_t i = 0; t->sheet->out && i < list.n; i++) {
		const struct rd_finding *f = &list.finding[i];

		printf("%s %s%s%s\n", rd_severity_mark(f->severity), f->title, f->next ? ": " : "",
			f->next ? f->next : "");
	}
	rd_sheet_json(t->sheet, "findings", rd_findings_json(&list, 0));
	rd_findings_free(&list);
}

/* ---- parts ---- */

static void print_identity(const struct info_output *t)
{
	const struct rd_device *d = t->info->device;
	char text[256], function[48];
	json_t *guid = rd_json_guid(d->node_guid);

	rd_sheet_section(t->sheet, "identity", "Identity");
	rd_sheet_text(t->sheet, "name", "name", d->name);
	snprintf(text, sizeof(text), *d->hca_type ? "%s (%s)" : "%s", rd_device_model(d),
		d->hca_type);
	rd_sheet_value(t->sheet, "model", "adapter", rd_json_text(rd_device_model(d)),
		*rd_device_model(d) ? text : d->hca_type);
	rd_sheet_json(t->sheet, "hca_type", rd_json_text(d->hca_type));
	rd_sheet_text(t->sheet, "board_id", "board id (PSID)", d->board_id);
	rd_sheet_text(t->sheet, "device_psid", "PSID by the device", t->info->mlx5.psid);
	rd_sheet_text(t->sheet, "serial", "serial number", t->info->serial);
	rd_sheet_text(t->sheet, "hw_rev", "hardware revision", t->info->hw_rev);
	rd_sheet_text(t->sheet, "node_type", "node type", d->node_type);
	rd_sheet_text(t->sheet, "node_desc", "node description", d->node_desc);
	rd_sheet_value(t->sheet, "node_guid", "node GUID", guid,
		json_is_string(guid) ? json_string_value(guid) : "");
	rd_sheet_text(t->sheet, "sys_image_guid", "system image GUID", t->info->sys_image_guid);
	rd_function_text(&d->function, function, sizeof(function));
	rd_sheet_value(t->sheet, "function", "function", rd_json_function(&d->function), function);
	rd_sheet_json(t->sheet, "representors", rd_json_representors(d));
	for (unsigned int i = 0; i < d->n_representors && i < GIDS_SHOWN; i++) {
		snprintf(text, sizeof(text), "%s (%s %u)", d->representors[i].netdev,
			rd_function_name(d->representors[i].kind), d->representors[i].number);
		rd_sheet_row(t->sheet, i ? "" : "represents", text);
	}
	rd_sheet_end(t->sheet);
}

static void print_firmware(const struct info_output *t)
{
	static const char *const kinds[] = {
		[RD_FW_FIXED] = "fixed", [RD_FW_RUNNING] = "running", [RD_FW_STORED] = "stored"};
	const struct rd_info *info = t->info;
	json_t *list = json_array();

	rd_sheet_section(t->sheet, "firmware", "Firmware");
	rd_sheet_text(t->sheet, "sysfs", "by sysfs", info->device->fw);
	rd_sheet_text(t->sheet, "verbs", "by verbs", info->verbs_fw);
	for (size_t i = 0; i < info->n_firmware; i++) {
		const struct rd_firmware_version *v = &info->firmware[i];
		char title[96];

		snprintf(title, sizeof(title), "%s, %s", v->name, kinds[v->kind]);
		json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", v->name, "kind",
						    kinds[v->kind], "value", v->value));
		rd_sheet_row(t->sheet, title, v->value);
	}
	rd_sheet_json(t->sheet, "devlink", list);
	rd_sheet_end(t->sheet);
}

static void print_module(const struct info_output *t, const struct rd_module *m)
{
	static const char *const origins[] = {[RD_ORIGIN_UNKNOWN] = "",
		[RD_ORIGIN_KERNEL] = "the kernel's own",
		[RD_ORIGIN_OFED] = "MLNX_OFED or DOCA",
		[RD_ORIGIN_OTHER] = "not the kernel's own"};
	char text[400];

	if (!*m->name)
		return;
	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s%s%s", m->name,
		m->loaded ? "" : ", not loaded or built in", *m->version ? " " : "", m->version,
		m->origin ? ", " : "", origins[m->origin], *m->path ? ", " : "", m->path,
		*m->srcversion ? ", srcversion " : "");
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", m->srcversion);
	rd_sheet_value(t->sheet, NULL, "module",
		json_pack("{s:s, s:b, s:o, s:o, s:o, s:o}", "name", m->name, "loaded", m->loaded,
			"version", rd_json_text(m->version), "srcversion",
			rd_json_text(m->srcversion), "path", rd_json_text(m->path), "origin",
			rd_json_text(origins[m->origin])),
		text);
}

static void print_driver(const struct info_output *t)
{
	rd_sheet_section(t->sheet, "driver", "Driver");
	rd_sheet_text(t->sheet, "name", "driver", t->info->device->driver);
	rd_sheet_text(t->sheet, "provider", "libibverbs provider", t->info->provider);
	rd_sheet_text(t->sheet, "lockdown", "kernel lockdown", t->info->lockdown);
	rd_sheet_array(t->sheet, "modules");
	print_module(t, &t->info->modules[0]);
	print_module(t, &t->info->modules[1]);
	rd_sheet_end(t->sheet);
	rd_sheet_end(t->sheet);
}

static void print_pci(const struct info_output *t)
{
	const struct rd_device *d = t->info->device;
	const struct rd_pci_link *pci = &t->info->pci;
	char text[200], ids[64];
	uint32_t vendor = d->vendor_id;

	if (!*d->pci) {
		rd_sheet_json(t->sheet, "pci", json_null());
		return;
	}
	rd_sheet_section(t->sheet, "pci", "PCI");
	rd_sheet_text(t->sheet, "address", "address", d->pci);
	rd_text_if(vendor != 0, ids, sizeof(ids), "%04x:%04x", vendor, d->part_id);
	snprintf(text, sizeof(text), pci->subsystem_vendor ? "%s, subsystem %04x:%04x" : "%s", ids,
		pci->subsystem_vendor, pci->subsystem_device);
	rd_sheet_value(t->sheet, "id", "ids", rd_json_text(ids), text);
	rd_text_if(pci->subsystem_vendor != 0, ids, sizeof(ids), "%04x:%04x", pci->subsystem_vendor,
		pci->subsystem_device);
	rd_sheet_json(t->sheet, "subsystem", rd_json_text(ids));
	rd_text_if(pci->width != 0, text, sizeof(text), "%s x%u of %s x%u", pci->speed, pci->width,
		pci->max_speed, pci->max_width);
	rd_sheet_value(t->sheet, "link", "link, of its best",
		json_pack("{s:o, s:o, s:o, s:o}", "speed", rd_json_text(pci->speed), "width",
			rd_json_u64_or_null(pci->width), "max_speed", rd_json_text(pci->max_speed),
			"max_width", rd_json_u64_or_null(pci->max_width)),
		text);
	rd_text_if(pci->numa_node >= 0, text, sizeof(text), "%d", pci->numa_node);
	rd_sheet_value(t->sheet, "numa_node", "NUMA node",
		pci->numa_node >= 0 ? json_integer(pci->numa_node) : json_null(), text);
	rd_sheet_text(t->sheet, "local_cpus", "CPUs near it", pci->cpus);
	rd_sheet_end(t->sheet);
}

static const char *const verdict_words[] = {[RD_CAPTURE_YES] = "yes, by the device's sniffer",
	[RD_CAPTURE_NETDEV] = "netdev only",
	[RD_CAPTURE_NO] = "no"};

static bool is_hindered(const struct rd_capture_condition *checks, unsigned int n)
{
	return RD_ANY(c, checks, n, c->answer == RD_ANSWER_NO);
}

/* The verdicts come first, since they matter most; the reasons are printed with each port. */
static void print_verdicts(const struct info_output *t)
{
	for (unsigned int i = 0; t->sheet->out && i < t->info->device->n_ports; i++) {
		const struct rd_port *port = &t->info->device->ports[i];
		struct rd_capture_condition checks[RD_CONDITIONS_MAX];
		enum rd_verdict verdict;
		unsigned int n;

		n = rd_info_conditions(t->info, port, checks, &verdict);
		printf("capture on port %u: %s%s\n", port->num, verdict_words[verdict],
			verdict == RD_CAPTURE_YES && is_hindered(checks, n)
				? ", once what is 'no' below is done"
				: "");
	}
}

static void print_capture(const struct info_output *t, const struct rd_port *port)
{
	static const char *const answers[] = {
		[RD_ANSWER_UNKNOWN] = "unknown", [RD_ANSWER_NO] = "no", [RD_ANSWER_YES] = "yes"};
	struct rd_capture_condition checks[RD_CONDITIONS_MAX];
	enum rd_verdict verdict;
	unsigned int n = rd_info_conditions(t->info, port, checks, &verdict);
	json_t *list = json_array();
	char heading[48];

	snprintf(heading, sizeof(heading), "Capture on port %u", port->num);
	rd_sheet_section(t->sheet, "capture", heading);
	rd_sheet_value(t->sheet, "verdict", "possible", json_string(rd_verdict_name(verdict)),
		verdict_words[verdict]);
	for (unsigned int i = 0; i < n; i++) {
		const struct rd_capture_condition *c = &checks[i];
		char text[sizeof(c->why) + sizeof(c->todo) + 16];

		snprintf(text, sizeof(text), "%-7s  %s%s%s", answers[c->answer], c->why,
			*c->todo ? "; " : "", c->todo);
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:o}", "key", c->key, "answer",
				answers[c->answer], "why", c->why, "todo", rd_json_text(c->todo)));
		rd_sheet_row(t->sheet, c->title, text);
	}
	rd_sheet_json(t->sheet, "checks", list);
	rd_sheet_end(t->sheet);
}

static void print_gids(const struct info_output *t, const struct rd_port *port)
{
	static const char *const columns[] = {"GID", "TYPE", "ADDRESS", "IPV4", "NETDEV"};
	json_t *list = rd_json_gids(t->info->device, port), *gid;
	size_t i, n = json_array_size(list);

	rd_sheet_table(t->sheet, columns, 5);
	json_array_foreach (list, i, gid) {
		char index[16];

		if (i >= GIDS_SHOWN && !t->verbose)
			break;
		snprintf(index, sizeof(index), "%jd",
			(intmax_t)json_integer_value(json_object_get(gid, "index")));
		rd_sheet_cell(t->sheet, index);
		for (size_t c = 0; c < 4; c++) {
			static const char *const keys[] = {"type", "gid", "ip", "netdev"};
			const char *text = json_string_value(json_object_get(gid, keys[c]));

			rd_sheet_cell(t->sheet, text ? text : "");
		}
	}
	rd_sheet_table_end(t->sheet);
	if (t->sheet->out && n > GIDS_SHOWN && !t->verbose)
		printf("  %zu more: -v or --json\n", n - GIDS_SHOWN);
	rd_sheet_json(t->sheet, "gids", list);
}

static void print_pkeys(const struct info_output *t, const struct rd_port_info *p)
{
	json_t *list = json_array();
	char text[400] = "";

	for (unsigned int i = 0; i < p->n_pkeys; i++) {
		size_t used = strlen(text);
		char pkey[8];

		snprintf(pkey, sizeof(pkey), "0x%04x", p->pkeys[i].value);
		json_array_append_new(list,
			json_pack("{s:i, s:s}", "index", (int)p->pkeys[i].index, "pkey", pkey));
		snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "", pkey);
	}
	rd_sheet_value(t->sheet, "pkeys", "P_Keys", list, text);
}

static void print_netdevs(const struct info_output *t, const struct rd_port *port)
{
	rd_sheet_json(t->sheet, "netdevs", rd_json_netdevs(port));
	for (unsigned int i = 0; i < port->n_netdevs; i++) {
		const struct rd_netdev *n = &port->netdevs[i];
		char text[512], addresses[384] = "";

		if (!t->info->device->copied)
			rd_netdev_addresses(n->name, addresses, sizeof(addresses));
		snprintf(text, sizeof(text), "%s%s%s, MTU %u%s%s%s%s", n->name,
			*n->operstate ? ", " : "", n->operstate, n->mtu, *addresses ? ", " : "",
			addresses, *n->slaves ? ", a bond of " : "", n->slaves);
		rd_sheet_row(t->sheet, i ? "" : "netdev", text);
	}
}

static void print_lids(
	const struct info_output *t, const struct rd_port *port, const struct rd_port_info *p)
{
	char text[64] = "";
	bool ib = port->link == RD_LINK_INFINIBAND;

	if (ib)
		snprintf(text, sizeof(text), "%u, LMC %u", port->lid, p->lmc);
	rd_sheet_value(t->sheet, "lid", "LID", rd_json_of_ib(port, port->lid), text);
	if (ib)
		snprintf(text, sizeof(text), "LID %u, SL %u", port->sm_lid, p->sm_sl);
	rd_sheet_value(
		t->sheet, "sm_lid", "subnet manager", rd_json_of_ib(port, port->sm_lid), text);
	rd_sheet_json(t->sheet, "lmc", rd_json_of_ib(port, p->lmc));
	rd_sheet_json(t->sheet, "sm_sl", rd_json_of_ib(port, p->sm_sl));
}

static void print_speed(
	const struct info_output *t, const struct rd_port *port, const struct rd_port_info *p)
{
	const char *lanes = *p->lanes ? p->lanes : port->lanes;
	uint64_t speed = p->speed ? p->speed : port->speed;
	char text[64] = "";

	if (speed)
		snprintf(text, sizeof(text), "%g Gb/s%s%s%s", (double)speed / 1e9,
			*lanes ? " (" : "", lanes, *lanes ? ")" : "");
	rd_sheet_value(t->sheet, "bits_per_second", "rate", rd_json_u64_or_null(speed), text);
	rd_sheet_json(t->sheet, "lanes", rd_json_text(lanes));
	rd_text_if(p->active_mtu != 0, text, sizeof(text), "%u of %u", p->active_mtu, p->max_mtu);
	rd_sheet_value(
		t->sheet, "active_mtu", "RDMA MTU", rd_json_u64_or_null(p->active_mtu), text);
	rd_sheet_json(t->sheet, "max_mtu", rd_json_u64_or_null(p->max_mtu));
}

static void print_cap_mask(
	const struct info_output *t, const struct rd_port *port, const struct rd_port_info *p)
{
	char words[900] = "", hex[16] = "", text[sizeof(words) + sizeof(hex) + 8] = "";

	if (p->has_cap_mask) {
		rd_cap_mask_text(words, sizeof(words), p->cap_mask, port->link);
		snprintf(hex, sizeof(hex), "0x%08x", p->cap_mask);
		snprintf(text, sizeof(text), "%s: %s", hex, words);
	}
	rd_sheet_value(t->sheet, "cap_mask", "capability mask", rd_json_text(hex), text);
	rd_sheet_json(t->sheet, "capabilities", rd_json_text(words));
}

/* Zeros and empty lists are shown with -v only. */
static void print_attrs(const struct info_output *t, const struct rd_attrs *attrs)
{
	for (size_t i = 0; i < attrs->n; i++) {
		const struct rd_attr *f = &attrs->attr[i];

		rd_sheet_value(t->sheet, f->key, f->title, json_incref(f->value),
			t->verbose || !f->empty ? f->text : "");
	}
}

static void print_port(const struct info_output *t, unsigned int i)
{
	const struct rd_port *port = &t->info->device->ports[i];
	const struct rd_port_info *p = &t->info->ports[i];
	char text[96], heading[48];

	snprintf(heading, sizeof(heading), "Port %u", port->num);
	rd_sheet_section(t->sheet, NULL, heading);
	rd_sheet_json(t->sheet, "port", json_integer(port->num));
	rd_sheet_text(t->sheet, "link", "link", rd_link_name(t->info->device, port));
	snprintf(text, sizeof(text), "%s%s%s", port->state,
		*port->phys_state ? ", physically " : "", port->phys_state);
	rd_sheet_value(t->sheet, "state", "state", rd_json_text(port->state), text);
	rd_sheet_json(t->sheet, "phys_state", rd_json_text(port->phys_state));
	print_speed(t, port, p);
	print_netdevs(t, port);
	rd_info_print_dcb(t, p);
	print_lids(t, port, p);
	print_cap_mask(t, port, p);
	print_pkeys(t, p);
	print_gids(t, port);
	rd_sheet_section(t->sheet, "roce", "RoCE settings");
	print_attrs(t, &p->settings);
	rd_sheet_end(t->sheet);
	print_capture(t, port);
	rd_sheet_end(t->sheet);
}

static void print_info(const struct info_output *t)
{
	const struct rd_info *info = t->info;

	rd_sheet_json(t->sheet, "device", json_string(info->device->name));
	if (t->sheet->out)
		printf("%s%s%s%s%s\n", info->device->name,
			*rd_device_model(info->device) ? ": " : "", rd_device_model(info->device),
			*info->device->fw ? ", firmware " : "", info->device->fw);
	print_verdicts(t);
	print_findings(t);
	print_identity(t);
	print_firmware(t);
	print_driver(t);
	print_pci(t);
	rd_sheet_array(t->sheet, "ports");
	for (unsigned int i = 0; i < info->device->n_ports; i++)
		print_port(t, i);
	rd_sheet_end(t->sheet);
	rd_sheet_section(t->sheet, "limits", "Limits and features");
	print_attrs(t, &info->limits);
	rd_sheet_end(t->sheet);
	rd_sheet_section(t->sheet, "provider", "Limits and features of the provider");
	print_attrs(t, &info->provider_attrs);
	rd_sheet_end(t->sheet);
	rd_info_print_open(t);
	rd_sheet_section(t->sheet, "not_queried", "Not queried");
	rd_sheet_text(t->sheet, "verbs", "verbs", info->closed_why);
	rd_sheet_end(t->sheet);
}

/* ---- the command ---- */

static int describe(const struct settings *settings, const struct rd_devices *devices,
	const struct rd_device *device, struct rd_error *err)
{
	struct rd_resources resources = {0};
	struct rd_info info;
	struct rd_error why = {.text = "read from a copied tree"};
	struct rd_sheet sheet;
	struct info_output t = {.sheet = &sheet, .info = &info, .verbose = settings->verbose};
	json_t *root;
	int ret = 0;

	if (rd_info_load(&info, device, devices->sysroot, err))
		return -1;
	t.no_resources = "";
	if (!*devices->sysroot && !rd_resources_load(&resources, device->name, &why))
		t.resources = &resources;
	else
		t.no_resources = why.text;
	if (t.resources && rd_resources_unlisted(&resources, device->name))
		t.no_resources =
			"which queue pairs: a list of so many takes a firmware command for each";
	rd_sheet_open(&sheet, settings->json ? NULL : stdout,
		rd_document(2, rd_wall_ns(), json_object()));
	sheet.width = rd_cli_columns(STDOUT_FILENO);
	print_info(&t);
	root = rd_sheet_close(&sheet);
	if (settings->json)
		ret = rd_cli_put_json(root, JSON_INDENT(2), err);
	else
		json_decref(root);
	rd_resources_free(&resources);
	rd_info_free(&info);
	return ret;
}

static int inform(void *ctx, struct rd_error *err)
{
	const struct settings *settings = ctx;
	const struct rd_device *device;
	struct rd_devices devices;
	int rc;

	if (rd_devices_load(&devices, settings->sysroot, err))
		return -1;
	rc = rd_devices_one(&devices, settings->device, &device, err);
	if (!rc)
		rc = describe(settings, &devices, device, err);
	rd_devices_free(&devices);
	return rc;
}

int rd_cmd_info(int argc, char **argv)
{
	static const struct argp argp = {.args_doc = "[DEVICE]",
		.doc = "Prints what is known about an RDMA device: identity, firmware, driver, PCI "
		       "link, ports, GIDs, RoCE settings, limits, open objects, and whether it can "
		       "be captured. DEVICE is a name, a netdev or a PCI address; it may be "
		       "omitted if there is only one."};
	struct settings settings = {.sysroot = ""};

	if (rd_cli_read(options, &argp, argc, argv, &settings))
		return RD_CLASS_USAGE;
	return run_on_tree(settings.sysroot, inform, &settings);
}
