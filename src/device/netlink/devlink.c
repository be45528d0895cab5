/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Versions by devlink (include/uapi/linux/devlink.h; net/devlink of Linux). */
#include "netlink.h"
#include <linux/devlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/socket.h>
#include <rdmadump/memory.h>

#define ATTRS	     256
#define VERSIONS_MAX 64

static bool is_info(const struct nlmsghdr *msg, size_t len)
{
	const struct genlmsghdr *head = (const struct genlmsghdr *)(msg + 1);

	return len >= sizeof(*msg) + sizeof(*head) && msg->nlmsg_len <= len &&
	       msg->nlmsg_len >= sizeof(*msg) + sizeof(*head) && head->cmd == DEVLINK_CMD_INFO_GET;
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
	const struct nlattr *a;
	int left;

	if (!is_info(msg, len))
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

static struct nl_msg *request(int family, const char *pci)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (msg &&
		genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, 0, DEVLINK_CMD_INFO_GET,
			DEVLINK_GENL_VERSION) &&
		nla_put_string(msg, DEVLINK_ATTR_BUS_NAME, "pci") >= 0 &&
		nla_put_string(msg, DEVLINK_ATTR_DEV_NAME, pci) >= 0)
		return msg;
	nlmsg_free(msg);
	return NULL;
}

void rd_devlink_firmware(struct rd_info *info)
{
	int family;
	struct nl_sock *nl;

	if (!*info->device->pci || rd_netlink_open(&nl, NETLINK_GENERIC, NULL))
		return;
	family = genl_ctrl_resolve(nl, DEVLINK_GENL_NAME);
	if (family >= 0)
		rd_netlink_request(
			nl, request(family, info->device->pci), rd_devlink_parse_info, info, NULL);
	nl_socket_free(nl);
}
