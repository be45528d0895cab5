/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `rdmadump list`: devices, ports and netdevs, and whether each port can be captured; if not, why
 * and what to do.
 */
#include "../commands.h"
#include "cli/command.h"
#include "cli/read_back.h"
#include "list_json.h"
#include <argp.h>
#include <errno.h>
#include <rdmadump/device.h>
#include <rdmadump/privilege.h>
#include <rdmadump/units.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GAP	 2  /* blanks between columns */
#define ROOM_MIN 30 /* columns that wrapped text needs to be readable */
#define TEXT_MAX 512

struct settings {
	struct tree_settings tree;
	bool json, verbose;
};

#define OPTIONS_OF struct settings

static const struct cli_option options[] = {
	{"json", 0, NULL, "Print all known facts as JSON", FLAG(json)}, TREE_OPTIONS(""),
	{"verbose", 'v', NULL,
		"Show more columns: PCI address, function, adapter, driver, physical state, lanes, "
		"MTU",
		FLAG(verbose)},
	NO_WORD("list shows all devices")};

/* ---- the table ---- */

enum column {
	DEVICE,
	PORT,
	PCI,
	FUNCTION,
	ADAPTER,
	DRIVER,
	NETDEV,
	LINK,
	STATE,
	PHYSICAL,
	RATE,
	LANES,
	MTU,
	FIRMWARE,
	CAPTURE,
	COLUMNS
};

static const struct {
	const char *title;
	enum { ALWAYS, VERBOSE, MIXED } shown; /* MIXED: if there are others than PFs */
} columns[COLUMNS] = {
	[DEVICE] = {"DEVICE", ALWAYS},
	[PORT] = {"PORT", ALWAYS},
	[PCI] = {"PCI", VERBOSE},
	[FUNCTION] = {"FUNCTION", MIXED},
	[ADAPTER] = {"ADAPTER", VERBOSE},
	[DRIVER] = {"DRIVER", VERBOSE},
	[NETDEV] = {"NETDEV", ALWAYS},
	[LINK] = {"LINK", ALWAYS},
	[STATE] = {"STATE", ALWAYS},
	[PHYSICAL] = {"PHYSICAL", VERBOSE},
	[RATE] = {"RATE", ALWAYS},
	[LANES] = {"LANES", VERBOSE},
	[MTU] = {"MTU", VERBOSE},
	[FIRMWARE] = {"FIRMWARE", ALWAYS},
	[CAPTURE] = {"CAPTURE", ALWAYS},
};

struct row {
	char cell[COLUMNS][TEXT_MAX];
};

static void set_cell(struct row *row, int column, const char *text)
{
	snprintf(row->cell[column], sizeof(row->cell[column]), "%s", *text ? text : "-");
}

static void set_netdevs(struct row *row, const struct rd_port *port)
{
	char text[RD_NETDEV_MAX * (IF_NAMESIZE + 1)] = "";
	size_t n = 0;

	for (unsigned int i = 0; i < port->n_netdevs; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "%s%s", i ? "," : "", port->netdevs[i].name);
	set_cell(row, NETDEV, text);
}

static void set_capture(struct row *row, const struct rd_device *device, const struct rd_port *port)
{
	static const char *const verdicts[] = {
		[RD_CAPTURE_YES] = "yes",
		[RD_CAPTURE_NETDEV] = "netdev only",
		[RD_CAPTURE_NO] = "no",
	};
	const char *why, *todo;
	enum rd_verdict verdict = rd_port_verdict(device, port, &why, &todo);

	if (!strcmp(why, RD_WHY_PRIVILEGE))
		snprintf(row->cell[CAPTURE], TEXT_MAX, "with CAP_NET_RAW: %s", todo);
	else if (verdict == RD_CAPTURE_YES && !*todo)
		set_cell(row, CAPTURE,
			rd_sniffer_is_of_function(device) ? "yes: this function's traffic" : "yes");
	else
		snprintf(row->cell[CAPTURE], TEXT_MAX, "%s: %s%s%s", verdicts[verdict], why,
			*todo ? "; " : "", todo);
}

static void set_function(struct row *row, const struct rd_function *f)
{
	char text[32];

	if (f->has_number)
		snprintf(text, sizeof(text), "%s %u", rd_function_name(f->kind), f->number);
	else if (f->n_vfs)
		snprintf(text, sizeof(text), "%s, %u VFs", rd_function_name(f->kind), f->n_vfs);
	else
		snprintf(text, sizeof(text), "%s", rd_function_name(f->kind));
	set_cell(row, FUNCTION, text);
}

/* Shows the type only if it is one word like MT4119: some drivers write a sentence. */
static void set_adapter(struct row *row, const struct rd_device *device)
{
	const char *model = rd_device_model(device), *type = device->hca_type;
	char text[160];

	if (*model && *type && !strchr(type, ' '))
		snprintf(text, sizeof(text), "%s (%s)", model, type);
	else
		snprintf(text, sizeof(text), "%s", *model ? model : type);
	set_cell(row, ADAPTER, text);
}

static void fill_row(struct row *row, const struct rd_device *device, const struct rd_port *port)
{
	char num[16];

	for (int c = 0; c < COLUMNS; c++)
		set_cell(row, c, "");
	set_cell(row, DEVICE, device->name);
	set_cell(row, PCI, device->pci);
	set_function(row, &device->function);
	set_adapter(row, device);
	set_cell(row, DRIVER, device->driver);
	set_cell(row, FIRMWARE, device->fw);
	if (!port) {
		set_cell(row, CAPTURE, "no: the device shows no port");
		return;
	}
	snprintf(num, sizeof(num), "%u", port->num);
	set_cell(row, PORT, num);
	set_netdevs(row, port);
	set_cell(row, LINK, rd_link_name(device, port));
	set_cell(row, STATE, port->state);
	set_cell(row, PHYSICAL, port->phys_state);
	set_cell(row, RATE, port->rate);
	set_cell(row, LANES, port->lanes);
	if (port->n_netdevs && port->netdevs[0].mtu) {
		snprintf(num, sizeof(num), "%u", port->netdevs[0].mtu);
		set_cell(row, MTU, num);
	}
	set_capture(row, device, port);
}

/* Columns of the terminal, 0 if standard output is none. */
static size_t terminal_width(void)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t wide;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (text && !rd_parse_u64(text, 20, 10000, &wide))
		return (size_t)wide;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

/* The cell's text in lines of at most `size`, each but the first indented by `indent` blanks. */
static void print_wrapped(const char *text, size_t indent, size_t size)
{
	while (strlen(text) > size) {
		size_t n = size;

		while (n && text[n] != ' ')
			n--;
		if (!n)
			n = size;
		printf("%.*s\n%*s", (int)n, text, (int)indent, "");
		text += n + strspn(text + n, " ");
	}
	puts(text);
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
		print_wrapped(text, at, terminal - at);
	} else {
		/* Too narrow for a column of text: it goes below, across the line. */
		printf("\n%*s", GAP, "");
		print_wrapped(text, GAP, terminal > ROOM_MIN ? terminal - GAP : ROOM_MIN);
	}
}

static size_t count_rows(const struct rd_devices *devices)
{
	size_t n = 0;

	for (size_t i = 0; i < devices->n; i++)
		n += devices->dev[i].n_ports ? devices->dev[i].n_ports : 1;
	return n;
}

static bool has_mixed_functions(const struct rd_devices *devices)
{
	for (size_t i = 0; i < devices->n; i++)
		if (devices->dev[i].function.kind > RD_FUNCTION_PF)
			return true;
	return false;
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

	for (unsigned int p = 0; p < device->n_ports; p++)
		if (rd_port_verdict(device, &device->ports[p], &why, &todo) == RD_CAPTURE_YES)
			return true;
	return false;
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
			if (strlen(rows[r].cell[c]) > width[c])
				width[c] = strlen(rows[r].cell[c]);
	}
}

static int print_table(const struct rd_devices *devices, bool verbose)
{
	size_t n = count_rows(devices), terminal = terminal_width(), width[COLUMNS], r = 1;
	struct row *rows = calloc(n + 1, sizeof(*rows));

	if (!rows)
		return -1;
	for (int c = 0; c < COLUMNS; c++)
		set_cell(&rows[0], c, columns[c].title);
	for (size_t i = 0; i < devices->n; i++) {
		const struct rd_device *device = &devices->dev[i];

		if (!device->n_ports)
			fill_row(&rows[r++], device, NULL);
		for (unsigned int p = 0; p < device->n_ports; p++)
			fill_row(&rows[r++], device, &device->ports[p]);
	}
	measure(width, rows, n + 1, verbose, has_mixed_functions(devices));
	for (r = 0; r <= n; r++)
		print_row(&rows[r], width, terminal);
	print_not_captured(devices);
	print_bonds(devices);
	for (size_t i = 0; verbose && i < devices->n; i++)
		print_representors(&devices->dev[i]);
	free(rows);
	return 0;
}

/* ---- the command ---- */

static int print_devices(
	const struct rd_devices *devices, const struct settings *settings, struct rd_error *err)
{
	bool json = settings->json;

	if (!devices->n && !json)
		return rd_fail(err, RD_CLASS_DEVICE, 0, rd_devices_none_todo(devices),
			"no RDMA devices in %s/sys/class/infiniband", devices->sysroot);
	errno = 0;
	if ((json ? rd_list_json(devices) : print_table(devices, settings->verbose)) ||
		fflush(stdout) || ferror(stdout))
		return rd_cli_stdout_failed(errno ? errno : ENOMEM, err);
	return 0;
}

/* Only JSON lists all GIDs, of which there may be thousands. */
static int load(struct rd_devices *devices, const struct settings *settings, struct rd_error *err)
{
	return settings->json ? rd_devices_load(devices, settings->tree.sysroot, err)
			      : rd_devices_glance(devices, settings->tree.sysroot, err);
}

static int list(void *ctx, struct rd_error *err)
{
	const struct settings *settings = ctx;
	struct rd_devices devices;
	int rc = load(&devices, settings, err);

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
	struct settings settings = {.tree.sysroot = ""};

	if (rd_cli_read(options, &argp, argc, argv, &settings))
		return RD_CLASS_USAGE;
	return bundle_read_back(&settings.tree, list, &settings);
}
