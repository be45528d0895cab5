/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA netlink's device messages (include/uapi/rdma/rdma_netlink.h, drivers/infiniband/core/nldev.c
 * of Linux). Integers are in the host's byte order; text may lack its NUL.
 */
#include "netlink.h"
#include <errno.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>
#include <rdmadump/memory.h>
#include <stdlib.h>

/* Newer than the oldest header that this is built with (Linux 6.12). */
#define STATE_LISTEN 8 /* enum rdma_cm_state in include/rdma/rdma_cm.h of Linux */

#define ATTRS 128 /* number of attributes that are parsed, with space for newer ones */

/* The attributes of a message with this command, by number; -1 for any other, or malformed ones. */
static int parse(const struct nlmsghdr *msg, size_t len, int command, struct nlattr *attr[ATTRS])
{
	/* libnl trusts the length in the message, which must be checked before. */
	if (len < NLMSG_HDRLEN || msg->nlmsg_len < NLMSG_HDRLEN || msg->nlmsg_len > len ||
		msg->nlmsg_type != RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command))
		return -1;
	return nlmsg_parse((struct nlmsghdr *)msg, 0, attr, ATTRS - 1, NULL) < 0 ? -1 : 0;
}

static bool get_u32(const struct nlattr *a, uint32_t *value)
{
	return attr_get(a, value, sizeof(*value));
}

static struct nl_msg *message(int command, int flags)
{
	return nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), NLM_F_REQUEST | flags);
}

void rd_nldev_free(struct rd_nldev_devices *devices)
{
	free(devices->dev);
	*devices = (struct rd_nldev_devices){0};
}

int rd_nldev_parse_device(const struct nlmsghdr *msg, size_t len, struct rd_nldev_device *out)
{
	struct nlattr *attr[ATTRS];

	*out = (struct rd_nldev_device){0};
	if (parse(msg, len, RDMA_NLDEV_CMD_GET, attr) ||
		!get_u32(attr[RDMA_NLDEV_ATTR_DEV_INDEX], &out->index) ||
		!attr_text(attr[RDMA_NLDEV_ATTR_DEV_NAME], out->name, sizeof(out->name)))
		return -1;
	return 0;
}

static int take_qp(struct rd_qp_res *qp, const char *device, struct nlattr *const attr[ATTRS])
{
	*qp = (struct rd_qp_res){0};
	if (!get_u32(attr[RDMA_NLDEV_ATTR_RES_LQPN], &qp->lqpn))
		return -1;
	rd_text_clean(qp->device, sizeof(qp->device), device);
	get_u32(attr[RDMA_NLDEV_ATTR_PORT_INDEX], &qp->port);
	qp->has_rqpn = get_u32(attr[RDMA_NLDEV_ATTR_RES_RQPN], &qp->rqpn);
	get_u32(attr[RDMA_NLDEV_ATTR_RES_RQ_PSN], &qp->rq_psn);
	qp->has_psn = get_u32(attr[RDMA_NLDEV_ATTR_RES_SQ_PSN], &qp->sq_psn);
	attr_get(attr[RDMA_NLDEV_ATTR_RES_TYPE], &qp->type, 1);
	attr_get(attr[RDMA_NLDEV_ATTR_RES_STATE], &qp->state, 1);
	if (!get_u32(attr[RDMA_NLDEV_ATTR_RES_PID], &qp->pid))
		attr_text(attr[RDMA_NLDEV_ATTR_RES_KERN_NAME], qp->comm, sizeof(qp->comm));
	return 0;
}

static int add_qp(struct rd_resources *r, const char *device, struct nlattr *const attr[ATTRS])
{
	struct rd_qp_res *qp = rd_append(&r->qps, r->n_qps, sizeof(*qp));

	if (!qp || take_qp(qp, device, attr))
		return -1;
	r->n_qps++;
	return 0;
}

/* A struct sockaddr_storage: IPv4 and IPv6 have the port at the same offset. */
static uint16_t port_of(const struct nlattr *a)
{
	struct sockaddr_storage address;
	struct sockaddr_in in;

	if (!attr_get(a, &address, sizeof(address)) ||
		(address.ss_family != AF_INET && address.ss_family != AF_INET6))
		return 0;
	memcpy(&in, &address, sizeof(in));
	return ntohs(in.sin_port);
}

static int add_cm_id(struct rd_resources *r, const char *device, struct nlattr *const attr[ATTRS])
{
	struct rd_cm_id *id = rd_append(&r->cm_ids, r->n_cm_ids, sizeof(*id));
	uint8_t state = 0;

	if (!id)
		return -1;
	rd_text_clean(id->device, sizeof(id->device), device);
	get_u32(attr[RDMA_NLDEV_ATTR_RES_LQPN], &id->lqpn);
	id->listens = attr_get(attr[RDMA_NLDEV_ATTR_RES_STATE], &state, 1) && state == STATE_LISTEN;
	id->source = port_of(attr[RDMA_NLDEV_ATTR_RES_SRC_ADDR]);
	id->destination = port_of(attr[RDMA_NLDEV_ATTR_RES_DST_ADDR]);
	attr_text(attr[RDMA_NLDEV_ATTR_RES_KERN_NAME], id->comm, sizeof(id->comm));
	r->n_cm_ids++;
	return 0;
}

static int add_count(struct rd_resources *r, const char *device, struct nlattr *const attr[ATTRS])
{
	struct rd_res_count *count = rd_append(&r->counts, r->n_counts, sizeof(*count));

	if (!count ||
		!attr_text(attr[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME], count->kind,
			sizeof(count->kind)) ||
		!attr_get(
			attr[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR], &count->n, sizeof(count->n)))
		return -1;
	rd_text_clean(count->device, sizeof(count->device), device);
	r->n_counts++;
	return 0;
}

/* Messages with a table of entries, all of one device. */
static const struct entries {
	int command, table, entry;
	/* Appends an entry to the resources; -1 if it is incomplete or out of memory. */
	int (*add)(struct rd_resources *r, const char *device, struct nlattr *const attr[ATTRS]);
} qps = {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY, add_qp},
  cm_ids = {RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID,
	  RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, add_cm_id},
  counts = {RDMA_NLDEV_CMD_RES_GET, RDMA_NLDEV_ATTR_RES_SUMMARY, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY,
	  add_count};

static int parse_entries(const struct nlmsghdr *msg, size_t len, const struct entries *entries,
	struct rd_resources *r)
{
	struct nlattr *attr[ATTRS], *of_entry[ATTRS], *entry;
	char device[RD_NAME_MAX];
	int left;

	if (parse(msg, len, entries->command, attr) || !attr[entries->table] ||
		!attr_text(attr[RDMA_NLDEV_ATTR_DEV_NAME], device, sizeof(device)))
		return -1;
	nla_for_each_nested(entry, attr[entries->table], left)
	{
		if (nla_type(entry) != entries->entry)
			continue;
		if (nla_parse_nested(of_entry, ATTRS - 1, entry, NULL) < 0 ||
			entries->add(r, device, of_entry))
			return -1;
	}
	return 0;
}

int rd_nldev_parse_qps(const struct nlmsghdr *msg, size_t len, struct rd_resources *r)
{
	return parse_entries(msg, len, &qps, r);
}

int rd_nldev_parse_cm_ids(const struct nlmsghdr *msg, size_t len, void *r)
{
	return parse_entries(msg, len, &cm_ids, r);
}

int rd_nldev_parse_summary(const struct nlmsghdr *msg, size_t len, void *r)
{
	return parse_entries(msg, len, &counts, r);
}

int rd_nldev_parse_system(const struct nlmsghdr *msg, size_t len, void *exclusive)
{
	struct nlattr *attr[ATTRS];
	uint8_t shared;

	if (parse(msg, len, RDMA_NLDEV_CMD_SYS_GET, attr) ||
		!attr_get(attr[RDMA_NLDEV_SYS_ATTR_NETNS_MODE], &shared, sizeof(shared)))
		return -1;
	*(bool *)exclusive = !shared;
	return 0;
}

/* --- requests --------------------------------------------------------------------------- */

bool rd_nldev_is_exclusive(void)
{
	struct nl_sock *nl;
	bool exclusive = false;

	if (rd_netlink_open(&nl, NETLINK_RDMA, NULL))
		return false;
	rd_netlink_request(
		nl, message(RDMA_NLDEV_CMD_SYS_GET, 0), rd_nldev_parse_system, &exclusive, NULL);
	nl_socket_free(nl);
	return exclusive;
}

static struct nl_msg *request(int command, const uint32_t *index)
{
	struct nl_msg *msg = message(command, NLM_F_DUMP);

	if (msg && index && nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, *index) < 0) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

static int take_device(const struct nlmsghdr *msg, size_t len, void *ctx)
{
	struct rd_nldev_devices *devices = ctx;
	struct rd_nldev_device *device = rd_append(&devices->dev, devices->n, sizeof(*device));

	if (device && !rd_nldev_parse_device(msg, len, device))
		devices->n++;
	return !device;
}

static int load_devices(struct nl_sock *nl, struct rd_nldev_devices *devices, struct rd_error *err)
{
	*devices = (struct rd_nldev_devices){0};
	return rd_netlink_request(nl, request(RDMA_NLDEV_CMD_GET, NULL), take_device, devices, err);
}

int rd_nldev_load(struct rd_nldev_devices *devices)
{
	struct nl_sock *nl;
	int ret;

	*devices = (struct rd_nldev_devices){0};
	if (rd_netlink_open(&nl, NETLINK_RDMA, NULL))
		return -1;
	ret = load_devices(nl, devices, NULL);
	nl_socket_free(nl);
	if (ret)
		rd_nldev_free(devices);
	return ret;
}

static int take_qps(const struct nlmsghdr *msg, size_t len, void *r)
{
	rd_nldev_parse_qps(msg, len, r);
	return rd_resources_stopped();
}

/* QPs are listed for one device at a time. */
static int load_qps(struct nl_sock *nl, const struct rd_nldev_devices *devices, const char *device,
	struct rd_resources *r, struct rd_error *err)
{
	bool found = false;

	for (size_t i = 0; i < devices->n; i++) {
		if (device && strcmp(device, devices->dev[i].name))
			continue;
		found = true;
		if (rd_resources_unlisted(r, devices->dev[i].name))
			continue;
		if (rd_resources_stopped())
			return rd_fail(err, RD_CLASS_DEVICE, EINTR, NULL, "list of queue pairs");
		if (rd_netlink_request(nl,
			    request(RDMA_NLDEV_CMD_RES_QP_GET, &devices->dev[i].index), take_qps, r,
			    err))
			return -1;
		/* After the QPs, so that the cm_ids of new QPs are included. On failure the QPs are
		 * kept. */
		if (cm_users_wanted(r))
			rd_netlink_request(nl,
				request(RDMA_NLDEV_CMD_RES_CM_ID_GET, &devices->dev[i].index),
				rd_nldev_parse_cm_ids, r, NULL);
	}
	cm_users_find(r);
	return found || !device ? 0
				: rd_fail(err, RD_CLASS_DEVICE, 0, "see 'rdmadump list'",
					  "RDMA netlink has no device '%s'", device);
}

int rd_nldev_resources(
	struct rd_resources *r, const char *device, bool counts_too, struct rd_error *err)
{
	struct rd_nldev_devices devices = {0};
	struct nl_sock *nl;
	int ret;

	*r = (struct rd_resources){0};
	if (rd_netlink_open(&nl, NETLINK_RDMA, err))
		return -1;
	ret = load_devices(nl, &devices, err);
	/* Counts are listed for all devices at once. */
	if (!ret && counts_too)
		ret = rd_netlink_request(
			nl, request(RDMA_NLDEV_CMD_RES_GET, NULL), rd_nldev_parse_summary, r, err);
	if (!ret)
		ret = load_qps(nl, &devices, device, r, err);
	rd_nldev_free(&devices);
	nl_socket_free(nl);
	if (ret)
		rd_resources_free(r);
	return ret;
}

int rd_resources_qp_count(const char *device, uint64_t *n)
{
	struct rd_resources r = {0};
	struct nl_sock *nl;
	int ret;

	*n = 0;
	if (rd_netlink_open(&nl, NETLINK_RDMA, NULL))
		return -1;
	ret = rd_netlink_request(
		nl, request(RDMA_NLDEV_CMD_RES_GET, NULL), rd_nldev_parse_summary, &r, NULL);
	if (!ret && !rd_resources_count(&r, device, "qp", n))
		ret = -1;
	rd_resources_free(&r);
	nl_socket_free(nl);
	return ret;
}
