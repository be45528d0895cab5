/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ports and versions by devlink (include/uapi/linux/devlink.h; net/devlink of Linux), and ports by
 * MLNX_OFED's own family, which uses the same numbers (its include/uapi/mlxdevm).
 */
#include "devlink.h"
#include "attr.h"
#include <linux/devlink.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <rdmadump/memory.h>
#include <string.h>

#define ATTRS	     256
#define VERSIONS_MAX 64

/* MLNX_OFED and DOCA list SFs in mlxdevm, also on kernels whose devlink does not. */
static const char *const port_families[] = {DEVLINK_GENL_NAME, "mlxdevm"};

static const struct {
	uint16_t flavour;
	enum rd_function_kind kind;
} flavours[] = {
	{DEVLINK_PORT_FLAVOUR_PHYSICAL, RD_FUNCTION_UPLINK},
	{DEVLINK_PORT_FLAVOUR_PCI_PF, RD_FUNCTION_PF},
	{DEVLINK_PORT_FLAVOUR_PCI_VF, RD_FUNCTION_VF},
	{DEVLINK_PORT_FLAVOUR_PCI_SF, RD_FUNCTION_SF},
};

static bool is_command(const struct nlmsghdr *msg, size_t len, const uint8_t *commands)
{
	const struct genlmsghdr *head = (const struct genlmsghdr *)(msg + 1);

	if (len < sizeof(*msg) + sizeof(*head) || msg->nlmsg_len > len ||
		msg->nlmsg_len < sizeof(*msg) + sizeof(*head))
		return false;
	while (*commands && *commands != head->cmd)
		commands++;
	return *commands;
}

int rd_devlink_parse_port(const struct nlmsghdr *msg, size_t len, struct rd_devlink_port *port)
{
	static const uint8_t commands[] = {DEVLINK_CMD_PORT_NEW, DEVLINK_CMD_PORT_GET, 0};
	struct rd_representor *rep = &port->represents;
	struct nlattr *attr[ATTRS];
	uint16_t flavour, number = 0;

	*port = (struct rd_devlink_port){0};
	if (!is_command(msg, len, commands) ||
		nlmsg_parse((struct nlmsghdr *)msg, GENL_HDRLEN, attr, ATTRS - 1, NULL) < 0 ||
		!attr_get(attr[DEVLINK_ATTR_PORT_FLAVOUR], &flavour, sizeof(flavour)))
		return -1;
	attr_text(attr[DEVLINK_ATTR_DEV_NAME], port->device, sizeof(port->device));
	attr_text(attr[DEVLINK_ATTR_PORT_NETDEV_NAME], rep->netdev, sizeof(rep->netdev));
	for (size_t i = 0; i < sizeof(flavours) / sizeof(*flavours); i++)
		if (flavours[i].flavour == flavour)
			rep->kind = flavours[i].kind;
	rep->has_controller = attr_get(attr[DEVLINK_ATTR_PORT_CONTROLLER_NUMBER], &rep->controller,
		sizeof(rep->controller));
	if (attr_get(attr[DEVLINK_ATTR_PORT_PCI_PF_NUMBER], &number, sizeof(number)))
		rep->pf = number;
	if (attr_get(attr[DEVLINK_ATTR_PORT_PCI_VF_NUMBER], &number, sizeof(number)))
		rep->number = number;
	attr_get(attr[DEVLINK_ATTR_PORT_PCI_SF_NUMBER], &rep->number, sizeof(rep->number));
	return 0;
}

static void add_version(struct rd_info *info, const struct nlattr *nested, int kind)
{
	struct nlattr *attr[ATTRS];
	struct rd_firmware_version *version;

	if (info->n_firmware == VERSIONS_MAX ||
		nla_parse_nested(attr, ATTRS - 1, (struct nlattr *)nested, NULL) < 0 ||
		!attr[DEVLINK_ATTR_INFO_VERSION_NAME] || !attr[DEVLINK_ATTR_INFO_VERSION_VALUE])
		return;
	version = rd_append(&info->firmware, info->n_firmware, sizeof(*version));
	if (!version)
		return;
	info->n_firmware++;
	attr_text(attr[DEVLINK_ATTR_INFO_VERSION_NAME], version->name, sizeof(version->name));
	attr_text(attr[DEVLINK_ATTR_INFO_VERSION_VALUE], version->value, sizeof(version->value));
	version->kind = kind == DEVLINK_ATTR_INFO_VERSION_FIXED	   ? RD_FW_FIXED
			: kind == DEVLINK_ATTR_INFO_VERSION_STORED ? RD_FW_STORED
								   : RD_FW_RUNNING;
}

int rd_devlink_parse_info(const struct nlmsghdr *msg, size_t len, void *ctx)
{
	struct rd_info *info = ctx;
	static const uint8_t commands[] = {DEVLINK_CMD_INFO_GET, 0};
	const struct nlattr *a;
	int left;

	if (!is_command(msg, len, commands))
		return -1;
	/* Each version is an attribute of its own with the same number. */
	nlmsg_for_each_attr(a, (struct nlmsghdr *)msg, GENL_HDRLEN, left) switch (nla_type(a))
	{
	case DEVLINK_ATTR_INFO_VERSION_FIXED:
	case DEVLINK_ATTR_INFO_VERSION_RUNNING:
	case DEVLINK_ATTR_INFO_VERSION_STORED:
		add_version(info, a, nla_type(a));
		break;
	case DEVLINK_ATTR_INFO_BOARD_SERIAL_NUMBER:
	case DEVLINK_ATTR_INFO_SERIAL_NUMBER:
		attr_text(a, info->serial, sizeof(info->serial));
		break;
	default:
		break;
	}
	return 0;
}

static struct rd_netlink *family_open(const char *name, int *family)
{
	struct rd_netlink *nl;

	if (rd_netlink_open(&nl, NETLINK_GENERIC, NULL))
		return NULL;
	*family = rd_netlink_family(nl, name);
	if (*family >= 0)
		return nl;
	rd_netlink_close(nl);
	return NULL;
}

static struct nl_msg *request(int family, uint8_t command, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (msg && genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, flags, command,
			   DEVLINK_GENL_VERSION))
		return msg;
	nlmsg_free(msg);
	return NULL;
}

static void merge(struct rd_device *device, const struct rd_representor *rep)
{
	struct rd_representor *added;

	for (unsigned int i = 0; i < device->n_representors; i++)
		if (!strcmp(device->representors[i].netdev, rep->netdev)) {
			device->representors[i] = *rep;
			return;
		}
	if (device->n_representors == RD_REPRESENTORS_MAX)
		return;
	added = rd_append(&device->representors, device->n_representors, sizeof(*added));
	if (!added)
		return;
	device->n_representors++;
	*added = *rep;
}

static int take_port(const struct nlmsghdr *msg, size_t len, void *ctx)
{
	struct rd_devices *devices = ctx;
	struct rd_devlink_port port;

	if (rd_devlink_parse_port(msg, len, &port) || !*port.represents.netdev ||
		port.represents.kind == RD_FUNCTION_UNKNOWN ||
		port.represents.kind == RD_FUNCTION_UPLINK)
		return 0;
	for (size_t i = 0; i < devices->n; i++)
		if (!strcmp(devices->dev[i].pci, port.device) &&
			devices->dev[i].function.kind == RD_FUNCTION_PF)
			merge(&devices->dev[i], &port.represents);
	return 0;
}

void rd_devlink_representors(struct rd_devices *devices)
{
	for (size_t i = 0; i < sizeof(port_families) / sizeof(*port_families); i++) {
		int family;
		struct rd_netlink *nl = family_open(port_families[i], &family);

		if (!nl)
			continue;
		rd_netlink_request(nl, request(family, DEVLINK_CMD_PORT_GET, NLM_F_DUMP), take_port,
			devices, NULL);
		rd_netlink_close(nl);
	}
}

void rd_devlink_firmware(struct rd_info *info)
{
	int family;
	struct rd_netlink *nl;
	struct nl_msg *msg;

	if (!*info->device->pci || !(nl = family_open(DEVLINK_GENL_NAME, &family)))
		return;
	msg = request(family, DEVLINK_CMD_INFO_GET, 0);
	if (msg && nla_put_string(msg, DEVLINK_ATTR_BUS_NAME, "pci") >= 0 &&
		nla_put_string(msg, DEVLINK_ATTR_DEV_NAME, info->device->pci) >= 0)
		rd_netlink_request(nl, msg, rd_devlink_parse_info, info, NULL);
	else
		nlmsg_free(msg);
	rd_netlink_close(nl);
}
