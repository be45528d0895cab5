/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `rdmadump list`: devices, ports and netdevs, and whether each port can be captured; if not, why
 * and what to do.
 */
#include "../commands.h"
#include "cli/command.h"
#include "info.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <rdmadump/document.h>
#include <rdmadump/privilege.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 512

struct settings {
	const char *sysroot; /* "": this machine */
	bool json, verbose;
};

#define OPTIONS_OF struct settings

static const struct cli_option options[] = {
	{"json", 0, NULL, "Print all known facts as JSON", FLAG(json)}, SYSROOT_OPTION(""),
	{"verbose", 'v', NULL,
		"Show more columns: PCI address, function, adapter, driver, physical state, lanes, "
		"MTU",
		FLAG(verbose)},
	NO_WORD("list shows all devices")};

/* ---- the table ---- */

/* A cell is made of the device and the port as JSON. */
typedef void put_fn(char buf[TEXT_MAX], const json_t *device, const json_t *port);

static json_int_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void put_number(char buf[TEXT_MAX], const json_t *device, const json_t *port)
{
	(void)device;
	snprintf(buf, TEXT_MAX, "%jd", (intmax_t)number_of(port, "port"));
}

static void put_function(char buf[TEXT_MAX], const json_t *device, const json_t *port)
{
	const json_t *f = json_object_get(device, "function");
	intmax_t n = number_of(f, "number"), vfs = number_of(f, "vfs");
	const char *kind = rd_json_text_of(f, "kind");

	(void)port;
	if (json_is_integer(json_object_get(f, "number")))
		snprintf(buf, TEXT_MAX, "%s %jd", kind, n);
	else
		snprintf(buf, TEXT_MAX, vfs ? "%s, %jd VFs" : "%s", kind, vfs);
}

/* Shows the type only if it is one word like MT4119: some drivers write a sentence. */
static void put_adapter(char buf[TEXT_MAX], const json_t *device, const json_t *port)
{
	const char *model = rd_json_text_of(device, "model"),
		   *type = rd_json_text_of(device, "hca_type");

	(void)port;
	if (*model && *type && !strchr(type, ' '))
		snprintf(buf, TEXT_MAX, "%s (%s)", model, type);
	else
		snprintf(buf, TEXT_MAX, "%s", *model ? model : type);
}

static void put_netdevs(char buf[TEXT_MAX], const json_t *device, const json_t *port)
{
	const json_t *netdev;
	size_t i, n = 0;

	(void)device;
	json_array_foreach (json_object_get(port, "netdevs"), i, netdev)
		n += (size_t)snprintf(buf + n, TEXT_MAX - n, "%s%s", i ? "," : "",
			rd_json_text_of(netdev, "name"));
}

static void put_mtu(char buf[TEXT_MAX], const json_t *device, const json_t *port)
{
	json_int_t mtu = number_of(json_array_get(json_object_get(port, "netdevs"), 0), "mtu");

	(void)device;
	if (mtu)
		snprintf(buf, TEXT_MAX, "%jd", (intmax_t)mtu);
}

static void put_capture(char buf[TEXT_MAX], const json_t *device, const json_t *port)
{
	const json_t *c = json_object_get(port, "capture");
	const char *verdict = rd_json_text_of(c, "verdict"), *why = rd_json_text_of(c, "why"),
		   *todo = rd_json_text_of(c, "todo");

	(void)device;
	if (!strcmp(why, RD_WHY_PRIVILEGE))
		snprintf(buf, TEXT_MAX, "with CAP_NET_RAW: %s", todo);
	else if (!strcmp(verdict, "yes") && !*todo)
		snprintf(buf, TEXT_MAX, "%s",
			*rd_json_text_of(c, "scope") ? "yes: this function's traffic" : "yes");
	else
		snprintf(buf, TEXT_MAX, "%s%s: %s%s%s", verdict,
			!strcmp(verdict, "netdev") ? " only" : "", why, *todo ? "; " : "", todo);
}

static const struct {
	const char *title;
	enum { ALWAYS, VERBOSE, MIXED } shown; /* MIXED: if there are others than PFs */
	bool of_device;
	const char *key; /* NULL: by `put` */
	put_fn *put;
} columns[] = {
	{"DEVICE", ALWAYS, true, "name", NULL},
	{"PORT", ALWAYS, false, NULL, put_number},
	{"PCI", VERBOSE, true, "pci", NULL},
	{"FUNCTION", MIXED, true, NULL, put_function},
	{"ADAPTER", VERBOSE, true, NULL, put_adapter},
	{"DRIVER", VERBOSE, true, "driver", NULL},
	{"NETDEV", ALWAYS, false, NULL, put_netdevs},
	{"LINK", ALWAYS, false, "link", NULL},
	{"STATE", ALWAYS, false, "state", NULL},
	{"PHYSICAL", VERBOSE, false, "phys_state", NULL},
	{"RATE", ALWAYS, false, "rate", NULL},
	{"LANES", VERBOSE, false, "lanes", NULL},
	{"MTU", VERBOSE, false, NULL, put_mtu},
	{"FIRMWARE", ALWAYS, true, "firmware", NULL},
	{"CAPTURE", ALWAYS, false, NULL, put_capture},
};

#define COLUMNS RD_COUNT(columns)
#define CAPTURE (COLUMNS - 1)
_Static_assert(COLUMNS <= RD_SHEET_COLUMNS, "a table of so many columns");

struct table {
	struct rd_sheet sheet;
	const char *titles[COLUMNS];
	bool hidden[COLUMNS];
};

static void open_table(struct table *t, bool verbose, bool mixed)
{
	unsigned int n = 0;

	rd_sheet_open(&t->sheet, stdout, NULL);
	t->sheet.width = rd_cli_columns(STDOUT_FILENO);
	t->sheet.alone = true;
	for (size_t c = 0; c < COLUMNS; c++) {
		t->hidden[c] = !verbose && (columns[c].shown == VERBOSE ||
						   (columns[c].shown == MIXED && !mixed));
		if (!t->hidden[c])
			t->titles[n++] = columns[c].title;
	}
	rd_sheet_table(&t->sheet, t->titles, n);
}

/* `port` NULL: the device has none. */
static void put_row(struct table *t, const json_t *device, const json_t *port)
{
	for (size_t c = 0; c < COLUMNS; c++) {
		const json_t *of = columns[c].of_device ? device : port;
		char text[TEXT_MAX] = "";

		if (t->hidden[c])
			continue;
		if (c == CAPTURE && !port)
			snprintf(text, TEXT_MAX, "no: the device shows no port");
		else if (of && columns[c].put)
			columns[c].put(text, device, port);
		rd_sheet_cell(
			&t->sheet, columns[c].key ? rd_json_text_of(of, columns[c].key) : text);
	}
}

/* "mlx5_0 represents: pf0vf0 (VF 0), en3f0pf0sf88 (SF 88 of controller 1)" */
static void print_representors(const struct rd_device *device)
{
	for (unsigned int i = 0; i < device->n_representors; i++) {
		const struct rd_representor *rep = &device->representors[i];

		if (!i)
			printf("%s represents: ", device->name);
		printf("%s%s (%s", i ? ", " : "", rep->netdev, rd_function_name(rep->kind));
		printf(" %u", rep->kind == RD_FUNCTION_PF ? rep->pf : rep->number);
		if (rep->has_controller && rep->controller)
			printf(" of controller %u", rep->controller);
		printf(")%s", i + 1 == device->n_representors ? "\n" : "");
	}
}

static bool has_sniffer(const struct rd_device *device)
{
	const char *why, *todo;

	return RD_ANY(port, device->ports, device->n_ports,
		rd_port_verdict(device, port, &why, &todo) == RD_CAPTURE_YES);
}

/* A sniffer has this function's traffic only, which surprises users of adapters with several. */
static void print_not_captured(const struct rd_devices *devices)
{
	for (size_t i = 0; i < devices->n; i++) {
		const struct rd_device *device = &devices->dev[i];
		char others[48];

		rd_other_functions_text(
			rd_other_functions(devices, device), others, sizeof(others));
		if (*others && has_sniffer(device))
			printf("! a capture on %s has the traffic of this function only, not of "
			       "%s\n",
				device->name, others);
	}
}

/* A bond is one RDMA device, whose sniffer may receive plain Ethernet frames of one port only. */
static void print_bonds(const struct rd_devices *devices)
{
	for (size_t i = 0; i < devices->n; i++) {
		const struct rd_device *device = &devices->dev[i];
		const struct rd_netdev *bond = rd_device_bond(device);

		if (bond && has_sniffer(device))
			printf("! %s is a bond (%s: %s): a capture may lack its second port's "
			       "plain Ethernet frames\n",
				device->name, bond->name, bond->slaves);
	}
}

static void print_table(const struct rd_devices *devices, const json_t *list, bool verbose)
{
	const json_t *device, *port;
	struct table t;
	size_t i, p;

	open_table(&t, verbose,
		RD_ANY(d, devices->dev, devices->n, d->function.kind > RD_FUNCTION_PF));
	json_array_foreach (list, i, device) {
		const json_t *ports = json_object_get(device, "ports");

		if (!json_array_size(ports))
			put_row(&t, device, NULL);
		json_array_foreach (ports, p, port) {
			put_row(&t, device, port);
		}
	}
	rd_sheet_table_end(&t.sheet);
	print_not_captured(devices);
	print_bonds(devices);
	for (i = 0; verbose && i < devices->n; i++)
		print_representors(&devices->dev[i]);
}

/* ---- the command ---- */

static int print_devices(
	const struct rd_devices *devices, const struct settings *settings, struct rd_error *err)
{
	json_t *list;
	bool whole;

	if (!devices->n && !settings->json)
		return rd_fail(err, RD_CLASS_DEVICE, 0, rd_devices_none_todo(devices),
			"no RDMA devices in %s/sys/class/infiniband", devices->sysroot);
	list = rd_json_devices(devices);
	whole = json_array_size(list) == devices->n;
	if (whole && settings->json)
		return rd_cli_put_json(rd_document(1, rd_wall_ns(),
					       json_pack("{s:s, s:o}", "source",
						       devices->by_netlink ? "netlink" : "sysfs",
						       "devices", list)),
			JSON_INDENT(2), err);
	if (whole)
		print_table(devices, list, settings->verbose);
	json_decref(list);
	return whole ? 0 : rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "the list of devices");
}

static int list(void *ctx, struct rd_error *err)
{
	const struct settings *settings = ctx;
	struct rd_devices devices;
	int rc;

	/* Only JSON lists all GIDs, of which there may be thousands. */
	rc = settings->json ? rd_devices_load(&devices, settings->sysroot, err)
			    : rd_devices_glance(&devices, settings->sysroot, err);
	if (rc)
		return rc;
	rc = print_devices(&devices, settings, err);
	rd_devices_free(&devices);
	return rc;
}

int rd_cmd_list(int argc, char **argv)
{
	static const struct argp argp = {
		.doc = "Lists the RDMA devices of this machine: ports, netdevs, state, firmware, "
		       "and whether each port can be captured; if not, why, and what to do."};
	struct settings settings = {.sysroot = ""};

	if (rd_cli_read(options, &argp, argc, argv, &settings))
		return RD_CLASS_USAGE;
	return run_on_tree(settings.sysroot, list, &settings);
}
