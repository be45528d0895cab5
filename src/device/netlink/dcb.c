/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DCB of one netdev (net/dcb/dcbnl.c, dcbnl_ieee_fill): the reply to DCB_CMD_IEEE_GET. Integers are
 * in the host's byte order.
 */
#include "netlink.h"
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/socket.h>
#include <stdlib.h>

#define ATTRS 32 /* number of attributes that are parsed, with space for newer ones */

/* Newer than the oldest header that this is built with (Linux 6.2). */
#define ATTR_APP   2  /* DCB_ATTR_DCB_APP: an application with a selector outside IEEE 802.1Q */
#define ATTR_TRUST 11 /* DCB_ATTR_DCB_APP_TRUST_TABLE */

static int take_apps(struct rd_dcb *dcb, const struct nlattr *table)
{
	struct nlattr *entry;
	int left;

	if (!table)
		return 0;
	dcb->apps = calloc((size_t)nla_len(table) / sizeof(*dcb->apps) + 1, sizeof(*dcb->apps));
	if (!dcb->apps)
		return -1;
	nla_for_each_nested(entry, (struct nlattr *)table, left)
	{
		int type = nla_type(entry);

		if ((type == DCB_ATTR_IEEE_APP || type == ATTR_APP) &&
			attr_get(entry, &dcb->apps[dcb->n_apps], sizeof(*dcb->apps)))
			dcb->n_apps++;
	}
	return 0;
}

static void take_trust(struct rd_dcb *dcb, const struct nlattr *table)
{
	struct nlattr *entry;
	int left;

	dcb->has_trust = table != NULL;
	if (!table)
		return;
	nla_for_each_nested(entry, (struct nlattr *)table, left)
	{
		if (dcb->n_trust < RD_DCB_TRUST_MAX &&
			attr_get(entry, &dcb->trust[dcb->n_trust], sizeof(*dcb->trust)))
			dcb->n_trust++;
	}
}

int rd_dcb_parse(const struct nlmsghdr *msg, size_t len, struct rd_dcb *dcb)
{
	struct nlattr *top[ATTRS], *ieee[ATTRS];
	struct dcbmsg head;

	/* libnl does not check the length in the message against the number of bytes received. */
	if (len < NLMSG_SPACE(sizeof(head)) || msg->nlmsg_len > len ||
		msg->nlmsg_len < NLMSG_SPACE(sizeof(head)) || msg->nlmsg_type != RTM_GETDCB)
		return -1;
	memcpy(&head, NLMSG_DATA(msg), sizeof(head));
	if (head.cmd != DCB_CMD_IEEE_GET ||
		nlmsg_parse((struct nlmsghdr *)msg, sizeof(head), top, ATTRS - 1, NULL) < 0 ||
		!top[DCB_ATTR_IEEE] ||
		nla_parse_nested(ieee, ATTRS - 1, top[DCB_ATTR_IEEE], NULL) < 0)
		return -1;
	dcb->has_pfc = attr_get(ieee[DCB_ATTR_IEEE_PFC], &dcb->pfc, sizeof(dcb->pfc));
	take_trust(dcb, ieee[ATTR_TRUST]);
	return take_apps(dcb, ieee[DCB_ATTR_IEEE_APP_TABLE]);
}

struct reply {
	struct rd_dcb *dcb;
	bool parsed;
};

static int take_reply(const struct nlmsghdr *msg, size_t len, void *ctx)
{
	struct reply *reply = ctx;

	if (!reply->parsed)
		reply->parsed = !rd_dcb_parse(msg, len, reply->dcb);
	return 0;
}

int rd_dcb_request(struct rd_dcb *dcb, struct rd_error *err)
{
	struct dcbmsg head = {.cmd = DCB_CMD_IEEE_GET};
	struct reply reply = {.dcb = dcb};
	struct nl_sock *nl;
	struct nl_msg *msg;
	int ret;

	if (rd_netlink_open(&nl, NETLINK_ROUTE, err))
		return -1;
	msg = nlmsg_alloc_simple(RTM_GETDCB, 0);
	if (msg && (nlmsg_append(msg, &head, sizeof(head), NLMSG_ALIGNTO) < 0 ||
			   nla_put_string(msg, DCB_ATTR_IFNAME, dcb->netdev) < 0)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	ret = rd_netlink_request(nl, msg, take_reply, &reply, err);
	nl_socket_free(nl);
	if (!ret && !reply.parsed)
		ret = rd_fail(err, RD_CLASS_DEVICE, EBADMSG, NULL, "DCB netlink request");
	return ret;
}
