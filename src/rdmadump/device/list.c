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
#include <rdmadump/sheet.h>
#include <stdlib.h>
#include <string.h>

#define GAP	 2  /* blanks between columns */
#define ROOM_MIN 30 /* columns that wrapped text needs to be readable */
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

#define COLUMNS (int)RD_COUNT(columns)
#define CAPTURE (COLUMNS - 1)

struct row {
	char cell[COLUMNS][TEXT_MAX];
};

static void set_cell(struct row *row, int column, const char *text)
{
	snprintf(row->cell[column], TEXT_MAX, "%s", *text ? text : "-");
}

/* `port` NULL: the device has none. */
static void fill_row(struct row *row, const json_t *device, const json_t *port)
{
	for (int c = 0; c < COLUMNS; c++) {
		const json_t *of = columns[c].of_device ? device : port;
		char text[TEXT_MAX] = "";

		if (of && columns[c].put)
			columns[c].put(text, device, port);
		set_cell(row, c, columns[c].key ? rd_json_text_of(of, columns[c].key) : text);
	}
	if (!port)
		set_cell(row, CAPTURE, "no: the device shows no port");
}

static void print_row(const struct row *row, const size_t width[COLUMNS], size_t terminal)
{
	const char *text = row->cell[CAPTURE];
	size_t at = 0;

	for (int c = 0; c < CAPTURE; c++) {
		if (!width[c])
			continue;
		printf("%*s%-*s", c ? GAP : 0, "", (int)width[c], row->cell[c]);
		at += width[c] + GAP;
	}
	if (!terminal || at + strlen(text) <= terminal) {
		printf("%*s%s\n", GAP, "", text);
	} else if (at + ROOM_MIN <= terminal) {
		printf("%*s", GAP, "");
		rd_put_wrapped(stdout, text, at, terminal - at);
	} else {
		/* Too narrow for a column of text: it goes below, across the line. */
		printf("\n%*s", GAP, "");
		rd_put_wrapped(stdout, text, GAP, terminal > ROOM_MIN ? terminal - GAP : ROOM_MIN);
	}
}

static size_t count_rows(const struct rd_devices *devices)
{
	size_t n = 0;

	for (size_t i = 0; i < devices->n; i++)
		n += devices->dev[i].n_ports ? devices->dev[i].n_ports : 1;
	return n;
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

/* A sniffer has the traffic of this function only, which surprises users of adapters with several
 * functions.
 */
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

/* A bond is one RDMA device, whose sniffer may receive the plain Ethernet frames of one port only.
 */
static void print_bonds(const struct rd_devices *devices)
{
	for (size_t i = 0; i < devices->n; i++) {
		const struct rd_device *device = &devices->dev[i];
		const struct rd_netdev *bond = rd_device_bond(device);

		if (bond && has_sniffer(device))
			printf("! %s is a bond (%s: %s): a capture may lack its second port's "
			       "plain "
			       "Ethernet frames\n",
				device->name, bond->name, bond->slaves);
	}
}

/* The widest cell of each column that is shown, 0 for those that are not. */
static void measure(
	size_t width[COLUMNS], const struct row *rows, size_t n, bool verbose, bool mixed)
{
	for (int c = 0; c < COLUMNS; c++) {
		width[c] = 0;
		if (!verbose &&
			(columns[c].shown == VERBOSE || (columns[c].shown == MIXED && !mixed)))
			continue;
		for (size_t r = 0; r < n; r++)
			width[c] = RD_MAX(width[c], strlen(rows[r].cell[c]));
	}
}

static int print_table(const struct rd_devices *devices, const json_t *list, bool verbose)
{
	size_t n = count_rows(devices), terminal = rd_cli_columns(STDOUT_FILENO), width[COLUMNS],
	       r = 1, i, p;
	struct row *rows = calloc(n + 1, sizeof(*rows));
	const json_t *device, *port;

	if (!rows)
		return -1;
	for (int c = 0; c < COLUMNS; c++)
		set_cell(&rows[0], c, columns[c].title);
	json_array_foreach (list, i, device) {
		const json_t *ports = json_object_get(device, "ports");

		if (!json_array_size(ports))
			fill_row(&rows[r++], device, NULL);
		json_array_foreach (ports, p, port) {
			fill_row(&rows[r++], device, port);
		}
	}
	measure(width, rows, n + 1, verbose,
		RD_ANY(d, devices->dev, devices->n, d->function.kind > RD_FUNCTION_PF));
	for (r = 0; r <= n; r++)
		print_row(&rows[r], width, terminal);
	print_not_captured(devices);
	print_bonds(devices);
	for (i = 0; verbose && i < devices->n; i++)
		print_representors(&devices->dev[i]);
	free(rows);
	return 0;
}

/* ---- the command ---- */

static int print_devices(
	const struct rd_devices *devices, const struct settings *settings, struct rd_error *err)
{
	json_t *list;
	int rc = -1;

	if (!devices->n && !settings->json)
		return rd_fail(err, RD_CLASS_DEVICE, 0, rd_devices_none_todo(devices),
			"no RDMA devices in %s/sys/class/infiniband", devices->sysroot);
	list = rd_json_devices(devices);
	if (json_array_size(list) == devices->n && settings->json)
		return rd_cli_put_json(rd_document(1, rd_wall_ns(),
					       json_pack("{s:s, s:o}", "source",
						       devices->by_netlink ? "netlink" : "sysfs",
						       "devices", list)),
			JSON_INDENT(2), err);
	if (json_array_size(list) == devices->n)
		rc = print_table(devices, list, settings->verbose);
	json_decref(list);
	return rc ? rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "the list of devices") : 0;
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
