/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* `rdmadump list`: devices, ports, netdevs, and for each: can it be captured, else why not and what
 * to do. */
#include "cli.h"
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <rdmadump/device.h>
#include <rdmadump/units.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GAP	   2  /* blanks between columns */
#define ROOM_LEAST 30 /* columns that text needs to be readable when wrapped */
#define TEXT_MAX   512

struct settings {
	const char *sysroot;
	bool json;
};

enum { OPT_JSON = 0x100, OPT_SYSROOT };

static const struct argp_option options[] = {
	{"json", OPT_JSON, NULL, 0, "Print everything that is known, as JSON", 0},
	{"sysroot", OPT_SYSROOT, "DIR", 0, "Read the copied sysfs tree DIR/sys", 0}, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	switch (key) {
	case OPT_JSON:
		settings->json = true;
		return 0;
	case OPT_SYSROOT:
		settings->sysroot = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one word too many: list shows all devices", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *link_name(const struct rd_device *device, const struct rd_port *port)
{
	if (!strcmp(device->node_type, "RNIC"))
		return "iWARP";
	if (port->link == RD_LINK_INFINIBAND)
		return "IB";
	if (port->link == RD_LINK_ETHERNET)
		return !strcmp(device->node_type, "CA") ? "RoCE" : "Ethernet";
	return "";
}

/* ---- the table ---- */

enum column { DEVICE, PORT, NETDEV, LINK, STATE, RATE, FIRMWARE, DRIVER, CAPTURE, COLUMNS };

static const char *const titles[COLUMNS] = {
	"DEVICE", "PORT", "NETDEV", "LINK", "STATE", "RATE", "FIRMWARE", "DRIVER", "CAPTURE"};

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

	if (verdict == RD_CAPTURE_YES && !*todo)
		set_cell(row, CAPTURE, "yes");
	else
		snprintf(row->cell[CAPTURE], TEXT_MAX, "%s: %s%s%s", verdicts[verdict], why,
			*todo ? "; " : "", todo);
}

static void fill_row(struct row *row, const struct rd_device *device, const struct rd_port *port)
{
	char num[16];

	for (int c = 0; c < COLUMNS; c++)
		set_cell(row, c, "");
	set_cell(row, DEVICE, device->name);
	set_cell(row, FIRMWARE, device->fw);
	set_cell(row, DRIVER, device->driver);
	if (!port) {
		set_cell(row, CAPTURE, "no: the device shows no port");
		return;
	}
	snprintf(num, sizeof(num), "%u", port->num);
	set_cell(row, PORT, num);
	set_netdevs(row, port);
	set_cell(row, LINK, link_name(device, port));
	set_cell(row, STATE, port->state);
	set_cell(row, RATE, port->rate);
	set_capture(row, device, port);
}

/* Columns of the terminal, 0 if standard output is none. */
static size_t terminal_width(void)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t columns;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (text && !rd_parse_u64(text, 20, 10000, &columns))
		return (size_t)columns;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

/* The cell's text in lines of at most `room`, each but the first behind `indent` blanks. */
static void print_wrapped(const char *text, size_t indent, size_t room)
{
	while (strlen(text) > room) {
		size_t n = room;

		while (n && text[n] != ' ')
			n--;
		if (!n)
			n = room;
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
		printf("%*s%-*s", c ? GAP : 0, "", (int)width[c], row->cell[c]);
		at += width[c] + GAP;
	}
	if (!terminal || at + strlen(text) <= terminal) {
		printf("%*s%s\n", GAP, "", text);
	} else if (at + ROOM_LEAST <= terminal) {
		printf("%*s", GAP, "");
		print_wrapped(text, at, terminal - at);
	} else {
		/* Too narrow for a column of text: it goes below, across the line. */
		printf("\n%*s", GAP, "");
		print_wrapped(text, GAP, terminal > ROOM_LEAST ? terminal - GAP : ROOM_LEAST);
	}
}

static size_t count_rows(const struct rd_devices *devices)
{
	size_t n = 0;

	for (size_t i = 0; i < devices->n; i++)
		n += devices->dev[i].n_ports ? devices->dev[i].n_ports : 1;
	return n;
}

static int print_table(const struct rd_devices *devices)
{
	size_t n = count_rows(devices), terminal = terminal_width(), width[COLUMNS] = {0}, r = 1;
	struct row *rows = calloc(n + 1, sizeof(*rows));

	if (!rows)
		return -1;
	for (int c = 0; c < COLUMNS; c++)
		set_cell(&rows[0], c, titles[c]);
	for (size_t i = 0; i < devices->n; i++) {
		const struct rd_device *device = &devices->dev[i];

		if (!device->n_ports)
			fill_row(&rows[r++], device, NULL);
		for (unsigned int p = 0; p < device->n_ports; p++)
			fill_row(&rows[r++], device, &device->ports[p]);
	}
	for (r = 0; r <= n; r++)
		for (int c = 0; c < COLUMNS; c++)
			if (strlen(rows[r].cell[c]) > width[c])
				width[c] = strlen(rows[r].cell[c]);
	for (r = 0; r <= n; r++)
		print_row(&rows[r], width, terminal);
	free(rows);
	return 0;
}

/* ---- JSON; what is unknown is null ---- */

static json_t *json_text(const char *text)
{
	return *text ? json_string(text) : json_null();
}

static json_t *json_number(uint64_t n)
{
	return n && n <= INT64_MAX ? json_integer((json_int_t)n) : json_null();
}

static json_t *json_id(uint32_t id)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%04" PRIx32, id);
	return json_text(id ? text : "");
}

static json_t *json_guid(uint64_t guid)
{
	char text[24];

	snprintf(text, sizeof(text), "%04x:%04x:%04x:%04x", (unsigned int)(guid >> 48),
		(unsigned int)(guid >> 32 & 0xffff), (unsigned int)(guid >> 16 & 0xffff),
		(unsigned int)(guid & 0xffff));
	return json_text(guid ? text : "");
}

static json_t *json_mac(const uint8_t mac[6])
{
	static const uint8_t none[6];
	char text[24];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		mac[3], mac[4], mac[5]);
	return json_text(memcmp(mac, none, 6) ? text : "");
}

static json_t *json_netdevs(const struct rd_port *port)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < port->n_netdevs; i++) {
		const struct rd_netdev *netdev = &port->netdevs[i];

		json_array_append_new(
			list, json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", netdev->name, "mac",
				      json_mac(netdev->mac), "mtu", json_number(netdev->mtu),
				      "ifindex", json_number(netdev->ifindex), "operstate",
				      json_text(netdev->operstate)));
	}
	return list;
}

static json_t *json_gids(const struct rd_device *device, const struct rd_port *port)
{
	static const char *const types[] = {
		[RD_GID_IB] = "IB", [RD_GID_ROCE_V1] = "RoCE v1", [RD_GID_ROCE_V2] = "RoCE v2"};
	bool iwarp = !strcmp(device->node_type, "RNIC");
	json_t *list = json_array();

	for (unsigned int i = 0; i < port->n_gids; i++) {
		const struct rd_gid *gid = &port->gids[i];
		char text[INET6_ADDRSTRLEN];

		inet_ntop(AF_INET6, gid->raw, text, sizeof(text));
		json_array_append_new(
			list, json_pack("{s:i, s:s, s:s, s:o}", "index", (int)gid->index, "gid",
				      text, "type", iwarp ? "iWARP" : types[gid->type], "netdev",
				      json_text(gid->ndev)));
	}
	return list;
}

static json_t *json_capture(const struct rd_device *device, const struct rd_port *port)
{
	static const char *const verdicts[] = {
		[RD_CAPTURE_YES] = "yes",
		[RD_CAPTURE_NETDEV] = "netdev",
		[RD_CAPTURE_NO] = "no",
	};
	const char *why, *todo;
	enum rd_verdict verdict = rd_port_verdict(device, port, &why, &todo);

	return json_pack("{s:s, s:s, s:o}", "verdict", verdicts[verdict], "why", why, "todo",
		json_text(todo));
}

static json_t *json_ports(const struct rd_device *device)
{
	static const char *const layers[] = {
		[RD_LINK_UNKNOWN] = "",
		[RD_LINK_ETHERNET] = "Ethernet",
		[RD_LINK_INFINIBAND] = "InfiniBand",
		[RD_LINK_RAW] = "",
	};
	json_t *list = json_array();

	for (unsigned int i = 0; i < device->n_ports; i++) {
		const struct rd_port *port = &device->ports[i];
		bool ib = port->link == RD_LINK_INFINIBAND;

		json_array_append_new(list,
			json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
				"port", (int)port->num, "link", json_text(link_name(device, port)),
				"link_layer", json_text(layers[port->link]), "state",
				json_text(port->state), "phys_state", json_text(port->phys_state),
				"rate", json_text(port->rate), "bits_per_second",
				json_number(port->speed), "lid",
				ib ? json_integer(port->lid) : json_null(), "sm_lid",
				ib ? json_integer(port->sm_lid) : json_null(), "netdevs",
				json_netdevs(port), "gids", json_gids(device, port), "capture",
				json_capture(device, port)));
	}
	return list;
}

static int print_json(const struct rd_devices *devices)
{
	json_t *list = json_array(), *root;
	int ret = -1;

	for (size_t i = 0; i < devices->n; i++) {
		const struct rd_device *device = &devices->dev[i];

		json_array_append_new(list,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
				"name", device->name, "pci", json_text(device->pci), "driver",
				json_text(device->driver), "firmware", json_text(device->fw),
				"board_id", json_text(device->board_id), "hca_type",
				json_text(device->hca_type), "node_type",
				json_text(device->node_type), "node_desc",
				json_text(device->node_desc), "node_guid",
				json_guid(device->node_guid), "vendor_id",
				json_id(device->vendor_id), "part_id", json_id(device->part_id),
				"ports", json_ports(device)));
	}
	root = json_pack("{s:i, s:o}", "version", 1, "devices", list);
	if (root && json_array_size(list) == devices->n)
		ret = json_dumpf(root, stdout, JSON_INDENT(2));
	json_decref(root);
	putchar('\n');
	return ret;
}

/* ---- the command ---- */

static int print_devices(const struct rd_devices *devices, bool json, struct rd_error *err)
{
	if (!devices->n && !json && *devices->sysroot)
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"copy sys/class/infiniband, sys/class/net and sys/devices of a machine "
			"that has some",
			"no RDMA devices in '%s/sys'", devices->sysroot);
	if (!devices->n && !json)
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"load the driver of the adapter (modprobe mlx5_ib), or make a software one "
			"(rdma link add rxe0 type rxe netdev NETDEV)",
			"no RDMA devices");
	errno = 0;
	if ((json ? print_json : print_table)(devices) || fflush(stdout) || ferror(stdout))
		return rd_fail(err, RD_CLASS_OUTPUT, errno ? errno : ENOMEM, NULL,
			"cannot write the list to standard output");
	return 0;
}

int rd_cmd_list(int argc, char **argv)
{
	static const struct argp argp = {.options = options,
		.parser = parse_option,
		.doc = "Lists the RDMA devices of this machine: ports, netdevs, state, firmware, "
		       "and whether each port can be captured; if not, why and what to do."};
	struct settings settings = {.sysroot = ""};
	struct rd_devices devices;
	struct rd_error err;
	int status = RD_CLASS_NONE;

	if (argp_parse(&argp, argc, argv, 0, NULL, &settings))
		return RD_CLASS_USAGE;
	if (rd_devices_load(&devices, settings.sysroot, &err))
		return rd_cli_fail(&err);
	if (print_devices(&devices, settings.json, &err))
		status = rd_cli_fail(&err);
	rd_devices_free(&devices);
	return status;
}
