/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices and ports as JSON (docs/schema/list.json); what is unknown is null. */
#include "info.h"
#include <inttypes.h>
#include <rdmadump/names.h>
#include <rdmadump/notation.h>
#include <string.h>

const char *rd_link_name(const struct rd_device *device, const struct rd_port *port)
{
	if (!strcmp(device->node_type, "RNIC"))
		return "iWARP";
	if (port->link == RD_LINK_INFINIBAND)
		return "IB";
	if (port->link == RD_LINK_ETHERNET)
		return !strcmp(device->node_type, "CA") ? "RoCE" : "Ethernet";
	return "";
}

RD_NAMES(rd_verdict_name, "no", [RD_CAPTURE_YES] = "yes", [RD_CAPTURE_NETDEV] = "netdev")

static json_t *json_id(uint32_t id)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%04" PRIx32, id);
	return rd_json_text(id ? text : "");
}

json_t *rd_json_guid(uint64_t guid)
{
	char text[RD_GUID_LEN];

	return rd_json_text(guid ? rd_guid_text(text, guid) : "");
}

static json_t *json_mac(const uint8_t mac[6])
{
	static const uint8_t none[6];
	char text[RD_MAC_LEN];

	return rd_json_text(memcmp(mac, none, 6) ? rd_mac_text(text, mac) : "");
}

json_t *rd_json_netdevs(const struct rd_port *port)
{
	return RD_JSON_LIST(netdev, port->netdevs, port->n_netdevs,
		json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "name", netdev->name, "mac",
			json_mac(netdev->mac), "mtu", rd_json_u64_or_null(netdev->mtu), "ifindex",
			rd_json_u64_or_null(netdev->ifindex), "operstate",
			rd_json_text(netdev->operstate), "slaves", rd_json_text(netdev->slaves)));
}

json_t *rd_json_gids(const struct rd_device *device, const struct rd_port *port)
{
	bool iwarp = !strcmp(device->node_type, "RNIC");
	char text[RD_ADDRESS_LEN], ip[RD_ADDRESS_LEN];

	return RD_JSON_LIST(gid, port->gids, port->n_gids,
		json_pack("{s:i, s:s, s:s, s:o, s:o}", "index", (int)gid->index, "gid",
			rd_gid_text(text, gid->raw), "type",
			iwarp ? "iWARP" : rd_gid_type_name(gid->type), "ip",
			rd_json_text(rd_gid_ipv4_text(ip, gid->raw)), "netdev",
			rd_json_text(gid->ndev)));
}

/* Whose traffic a capture shows; null if that is not known, or none is possible. */
static json_t *json_scope(const struct rd_device *device, enum rd_verdict verdict)
{
	if (verdict == RD_CAPTURE_NETDEV)
		return json_string("netdev");
	return verdict == RD_CAPTURE_YES && rd_sniffer_is_of_function(device)
		       ? json_string("function")
		       : json_null();
}

static json_t *json_capture(const struct rd_device *device, const struct rd_port *port)
{
	const char *why, *todo;
	enum rd_verdict verdict = rd_port_verdict(device, port, &why, &todo);

	return json_pack("{s:s, s:s, s:o, s:o}", "verdict", rd_verdict_name(verdict), "why", why,
		"todo", rd_json_text(todo), "scope", json_scope(device, verdict));
}

json_t *rd_json_of_ib(const struct rd_port *port, uint32_t n)
{
	return port->link == RD_LINK_INFINIBAND ? json_integer(n) : json_null();
}

static json_t *json_ports(const struct rd_device *device)
{
	static const char *const layers[] = {
		[RD_LINK_UNKNOWN] = "",
		[RD_LINK_ETHERNET] = "Ethernet",
		[RD_LINK_INFINIBAND] = "InfiniBand",
		[RD_LINK_RAW] = "",
	};

	return RD_JSON_LIST(port, device->ports, device->n_ports,
		json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			"port", (int)port->num, "link", rd_json_text(rd_link_name(device, port)),
			"link_layer", rd_json_text(layers[port->link]), "state",
			rd_json_text(port->state), "phys_state", rd_json_text(port->phys_state),
			"rate", rd_json_text(port->rate), "lanes", rd_json_text(port->lanes),
			"bits_per_second", rd_json_u64_or_null(port->speed), "lid",
			rd_json_of_ib(port, port->lid), "sm_lid", rd_json_of_ib(port, port->sm_lid),
			"netdevs", rd_json_netdevs(port), "gids", rd_json_gids(device, port),
			"capture", json_capture(device, port)));
}

json_t *rd_json_function(const struct rd_function *f)
{
	if (f->kind == RD_FUNCTION_UNKNOWN)
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:i, s:i}", "kind", rd_function_name(f->kind), "number",
		f->has_number ? json_integer(f->number) : json_null(), "parent",
		rd_json_text(f->parent), "vfs", (int)f->n_vfs, "vfs_max", (int)f->max_vfs);
}

static json_t *json_others(const struct rd_devices *devices, const struct rd_device *device)
{
	struct rd_other_functions others = rd_other_functions(devices, device);

	return json_pack(
		"{s:I, s:I}", "vfs", (json_int_t)others.vfs, "sfs", (json_int_t)others.sfs);
}

json_t *rd_json_representors(const struct rd_device *device)
{
	return RD_JSON_LIST(rep, device->representors, device->n_representors,
		json_pack("{s:s, s:s, s:o, s:I, s:o}", "netdev", rep->netdev, "kind",
			rd_function_name(rep->kind), "controller",
			rep->has_controller ? json_integer(rep->controller) : json_null(), "pf",
			(json_int_t)rep->pf, "number",
			rep->kind == RD_FUNCTION_PF ? json_null() : json_integer(rep->number)));
}

json_t *rd_json_devices(const struct rd_devices *devices)
{
	return RD_JSON_LIST(device, devices->dev, devices->n,
		json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
			  "s:o, s:o, s:o, s:o}",
			"name", device->name, "pci", rd_json_text(device->pci), "function",
			rd_json_function(&device->function), "representors",
			rd_json_representors(device), "not_captured", json_others(devices, device),
			"model", rd_json_text(rd_device_model(device)), "driver",
			rd_json_text(device->driver), "firmware", rd_json_text(device->fw),
			"board_id", rd_json_text(device->board_id), "hca_type",
			rd_json_text(device->hca_type), "node_type",
			rd_json_text(device->node_type), "node_desc",
			rd_json_text(device->node_desc), "node_guid",
			rd_json_guid(device->node_guid), "vendor_id", json_id(device->vendor_id),
			"part_id", json_id(device->part_id), "ports", json_ports(device)));
}

/* --- refusals of the firmware --- */

const char *rd_refusal_text(
	char buf[static RD_REFUSAL_LEN], const struct rd_firmware_refusal *refusal)
{
	const char *error = strerror(refusal->error);

	if (!refusal->error)
		buf[0] = '\0';
	else if (refusal->status)
		snprintf(buf, RD_REFUSAL_LEN, "%.80s (firmware status 0x%x, syndrome 0x%06x)",
			error, refusal->status, refusal->syndrome);
	else
		snprintf(buf, RD_REFUSAL_LEN, "%s", error);
	return buf;
}

json_t *rd_json_refusal(const struct rd_firmware_refusal *refusal)
{
	json_t *o;

	if (!refusal->error)
		return json_null();
	o = json_pack("{s:i, s:s, s:i, s:I}", "errno", refusal->error, "error",
		strerror(refusal->error), "status", (int)refusal->status, "syndrome",
		(json_int_t)refusal->syndrome);
	if (refusal->command)
		json_object_set_new(o, "command", json_string(refusal->command));
	return o;
}
