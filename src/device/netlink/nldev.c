/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA netlink's device messages (include/uapi/rdma/rdma_netlink.h, drivers/infiniband/core/nldev.c
 * of Linux). Integers are in the host's byte order; text may lack its NUL.
 */
#include "nldev.h"
#include "../sysfs.h"
#include "config.h"
#include <rdma/rdma_netlink.h>
#include <stdlib.h>
#include <string.h>

/* Newer than the oldest header that this is built with (Linux 6.12). */
#define CMD_MONITOR	28
#define ATTR_EVENT_TYPE 102

void rd_nldev_free(struct rd_nldev_devices *devices)
{
	free(devices->dev);
	*devices = (struct rd_nldev_devices){0};
}

#ifdef HAVE_LIBNL
#include "attr.h"
#include <netlink/msg.h>

#define ATTRS 128 /* numbers of attributes that are looked at, with room for newer ones */

/*
 * The attributes of a message with this command, by number; -1 for any other, or if it is
 * malformed.
 */
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

int rd_nldev_parse_device(const struct nlmsghdr *msg, size_t len, struct rd_nldev_device *out)
{
	struct nlattr *attr[ATTRS];

	*out = (struct rd_nldev_device){0};
	if (parse(msg, len, RDMA_NLDEV_CMD_GET, attr) ||
		!get_u32(attr[RDMA_NLDEV_ATTR_DEV_INDEX], &out->index) ||
		!attr_text(attr[RDMA_NLDEV_ATTR_DEV_NAME], out->name, sizeof(out->name)))
		return -1;
	get_u32(attr[RDMA_NLDEV_ATTR_PORT_INDEX], &out->n_ports);
	attr_text(attr[RDMA_NLDEV_ATTR_FW_VERSION], out->fw, sizeof(out->fw));
	attr_text(attr[RDMA_NLDEV_ATTR_DEV_PROTOCOL], out->protocol, sizeof(out->protocol));
	attr_get(attr[RDMA_NLDEV_ATTR_NODE_GUID], &out->node_guid, sizeof(out->node_guid));
	attr_get(attr[RDMA_NLDEV_ATTR_DEV_NODE_TYPE], &out->node_type, sizeof(out->node_type));
	return 0;
}

/* One place more at the end of an array whose room is a power of two. */
static void *grow(void *array, size_t n, size_t size)
{
	if (n & (n - 1))
		return array;
	return reallocarray(array, n ? n * 2 : 1, size);
}

static void take_owner(struct rd_qp_res *qp, struct nlattr *const attr[ATTRS])
{
	if (!get_u32(attr[RDMA_NLDEV_ATTR_RES_PID], &qp->pid))
		attr_text(attr[RDMA_NLDEV_ATTR_RES_KERN_NAME], qp->comm, sizeof(qp->comm));
}

static int add_qp(struct rd_resources *r, const char *device, struct nlattr *const attr[ATTRS])
{
	struct rd_qp_res qp = {0}, *grown;

	if (!get_u32(attr[RDMA_NLDEV_ATTR_RES_LQPN], &qp.lqpn))
		return -1;
	rd_text_clean(qp.device, sizeof(qp.device), device);
	get_u32(attr[RDMA_NLDEV_ATTR_PORT_INDEX], &qp.port);
	qp.has_rqpn = get_u32(attr[RDMA_NLDEV_ATTR_RES_RQPN], &qp.rqpn);
	get_u32(attr[RDMA_NLDEV_ATTR_RES_RQ_PSN], &qp.rq_psn);
	qp.has_psn = get_u32(attr[RDMA_NLDEV_ATTR_RES_SQ_PSN], &qp.sq_psn);
	attr_get(attr[RDMA_NLDEV_ATTR_RES_TYPE], &qp.type, 1);
	attr_get(attr[RDMA_NLDEV_ATTR_RES_STATE], &qp.state, 1);
	take_owner(&qp, attr);
	grown = grow(r->qps, r->n_qps, sizeof(*r->qps));
	if (!grown)
		return -1;
	r->qps = grown;
	r->qps[r->n_qps++] = qp;
	return 0;
}

static int add_count(struct rd_resources *r, const char *device, struct nlattr *const attr[ATTRS])
{
	struct rd_res_count count = {0}, *grown;

	if (!attr_text(
		    attr[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME], count.kind, sizeof(count.kind)) ||
		!attr_get(attr[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR], &count.n, sizeof(count.n)))
		return -1;
	rd_text_clean(count.device, sizeof(count.device), device);
	grown = grow(r->counts, r->n_counts, sizeof(*r->counts));
	if (!grown)
		return -1;
	r->counts = grown;
	r->counts[r->n_counts++] = count;
	return 0;
}

/* Messages with a table of entries, all of one device. */
static const struct entries {
	int command, table, entry;
	/* Appends an entry to the resources; -1 if it is incomplete or memory is short. */
	int (*add)(struct rd_resources *r, const char *device, struct nlattr *const attr[ATTRS]);
} qps = {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY, add_qp},
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

int rd_nldev_parse_summary(const struct nlmsghdr *msg, size_t len, struct rd_resources *r)
{
	return parse_entries(msg, len, &counts, r);
}

int rd_nldev_parse_event(const struct nlmsghdr *msg, size_t len, struct rd_nldev_event *out)
{
	struct nlattr *attr[ATTRS];
	uint8_t type;

	*out = (struct rd_nldev_event){0};
	if (parse(msg, len, CMD_MONITOR, attr) ||
		!attr_get(attr[ATTR_EVENT_TYPE], &type, sizeof(type)))
		return -1;
	out->type = type;
	out->has_index = attr_get(attr[RDMA_NLDEV_ATTR_DEV_INDEX], &out->index, sizeof(out->index));
	attr_text(attr[RDMA_NLDEV_ATTR_DEV_NAME], out->device, sizeof(out->device));
	attr_text(attr[RDMA_NLDEV_ATTR_NDEV_NAME], out->netdev, sizeof(out->netdev));
	get_u32(attr[RDMA_NLDEV_ATTR_PORT_INDEX], &out->port);
	return 0;
}

int rd_nldev_parse_system(const struct nlmsghdr *msg, size_t len, bool *exclusive)
{
	struct nlattr *attr[ATTRS];
	uint8_t shared;

	if (parse(msg, len, RDMA_NLDEV_CMD_SYS_GET, attr) ||
		!attr_get(attr[RDMA_NLDEV_SYS_ATTR_NETNS_MODE], &shared, sizeof(shared)))
		return -1;
	*exclusive = !shared;
	return 0;
}

/* --- counters of one QP ------------------------------------------------------------------------
 */

static bool is_number(const struct nlattr *a, uint32_t wanted)
{
	uint32_t value;

	return get_u32(a, &value) && value == wanted;
}

int rd_nldev_parse_bound(const struct nlmsghdr *msg, size_t len, struct rd_nldev_stat *stat)
{
	struct nlattr *attr[ATTRS];

	if (parse(msg, len, RDMA_NLDEV_CMD_STAT_SET, attr) ||
		!is_number(attr[RDMA_NLDEV_ATTR_DEV_INDEX], stat->device) ||
		!is_number(attr[RDMA_NLDEV_ATTR_PORT_INDEX], stat->port) ||
		!is_number(attr[RDMA_NLDEV_ATTR_RES_LQPN], stat->lqpn))
		return -1;
	return get_u32(attr[RDMA_NLDEV_ATTR_STAT_COUNTER_ID], &stat->counter) ? 0 : -1;
}

int rd_nldev_parse_stat(const struct nlmsghdr *msg, size_t len, const struct rd_nldev_stat *stat,
	const char *name, uint64_t *value)
{
	struct nlattr *attr[ATTRS], *of_entry[ATTRS], *entry;
	char found[RD_NAME_MAX];
	int left;

	if (parse(msg, len, RDMA_NLDEV_CMD_STAT_GET, attr) ||
		!is_number(attr[RDMA_NLDEV_ATTR_DEV_INDEX], stat->device) ||
		!is_number(attr[RDMA_NLDEV_ATTR_PORT_INDEX], stat->port) ||
		!is_number(attr[RDMA_NLDEV_ATTR_STAT_COUNTER_ID], stat->counter) ||
		!attr[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS])
		return -1;
	nla_for_each_nested(entry, attr[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS], left)
	{
		if (nla_type(entry) != RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY ||
			nla_parse_nested(of_entry, ATTRS - 1, entry, NULL) < 0 ||
			!attr_text(of_entry[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME], found,
				sizeof(found)) ||
			strcmp(found, name))
			continue;
		return attr_get(of_entry[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE], value,
			       sizeof(*value))
			       ? 0
			       : -1;
	}
	return -1;
}

/* --- requests ----------------------------------------------------------------------------------
 */

static struct nl_msg *message(int command, int flags)
{
	return nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), NLM_F_REQUEST | flags);
}

static int take_system(const struct nlmsghdr *msg, size_t len, void *exclusive)
{
	rd_nldev_parse_system(msg, len, exclusive);
	return 0;
}

bool rd_nldev_is_exclusive(void)
{
	struct rd_netlink *nl;
	bool exclusive = false;

	if (rd_netlink_open(&nl, NETLINK_RDMA, NULL))
		return false;
	rd_netlink_ask(nl, message(RDMA_NLDEV_CMD_SYS_GET, 0), take_system, &exclusive, NULL);
	rd_netlink_close(nl);
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
	struct rd_nldev_device device, *grown;

	if (rd_nldev_parse_device(msg, len, &device))
		return 0;
	grown = grow(devices->dev, devices->n, sizeof(*devices->dev));
	if (!grown)
		return -1;
	devices->dev = grown;
	devices->dev[devices->n++] = device;
	return 0;
}

static int load_devices(
	struct rd_netlink *nl, struct rd_nldev_devices *devices, struct rd_error *err)
{
	*devices = (struct rd_nldev_devices){0};
	return rd_netlink_ask(nl, request(RDMA_NLDEV_CMD_GET, NULL), take_device, devices, err);
}

static int unknown_device(const char *name, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, 0, "see 'rdmadump list'",
		"RDMA netlink knows no device '%s'", name);
}

int rd_nldev_load(struct rd_nldev_devices *devices, struct rd_error *err)
{
	struct rd_netlink *nl;
	int ret;

	*devices = (struct rd_nldev_devices){0};
	if (rd_netlink_open(&nl, NETLINK_RDMA, err))
		return -1;
	ret = load_devices(nl, devices, err);
	rd_netlink_close(nl);
	if (ret)
		rd_nldev_free(devices);
	return ret;
}

int rd_nldev_index(struct rd_netlink *nl, const char *name, uint32_t *index, struct rd_error *err)
{
	struct rd_nldev_devices devices;
	int ret = load_devices(nl, &devices, err);
	bool found = false;

	for (size_t i = 0; i < devices.n && !found; i++) {
		found = !strcmp(name, devices.dev[i].name);
		if (found)
			*index = devices.dev[i].index;
	}
	rd_nldev_free(&devices);
	if (ret || found)
		return ret;
	return unknown_device(name, err);
}

/* Numbers that a request has, in the order in which they are put. */
struct number {
	int attr;
	uint32_t value;
};

static struct nl_msg *numbers_message(int command, const struct number *numbers, size_t n)
{
	struct nl_msg *msg = message(command, 0);

	for (size_t i = 0; msg && i < n; i++)
		if (nla_put_u32(msg, numbers[i].attr, numbers[i].value) < 0) {
			nlmsg_free(msg);
			return NULL;
		}
	return msg;
}

struct nl_msg *rd_nldev_stat_set_message(const struct rd_nldev_stat *stat)
{
	const struct number numbers[] = {
		{RDMA_NLDEV_ATTR_DEV_INDEX, stat->device},
		{RDMA_NLDEV_ATTR_PORT_INDEX, stat->port},
		{RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP},
		{RDMA_NLDEV_ATTR_STAT_MODE, RDMA_COUNTER_MODE_MANUAL},
		{RDMA_NLDEV_ATTR_RES_LQPN, stat->lqpn},
	};

	return numbers_message(
		RDMA_NLDEV_CMD_STAT_SET, numbers, sizeof(numbers) / sizeof(numbers[0]));
}

/* Without the port the kernel refuses it: nldev.c, res_get_common_doit(). */
struct nl_msg *rd_nldev_stat_get_message(const struct rd_nldev_stat *stat)
{
	const struct number numbers[] = {
		{RDMA_NLDEV_ATTR_DEV_INDEX, stat->device},
		{RDMA_NLDEV_ATTR_PORT_INDEX, stat->port},
		{RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP},
		{RDMA_NLDEV_ATTR_STAT_COUNTER_ID, stat->counter},
	};

	return numbers_message(
		RDMA_NLDEV_CMD_STAT_GET, numbers, sizeof(numbers) / sizeof(numbers[0]));
}

/* A response that the parser is to find something in. */
struct wanted {
	struct rd_nldev_stat stat;
	const char *name;
	uint64_t value;
	bool found;
};

static int take_bound(const struct nlmsghdr *msg, size_t len, void *ctx)
{
	struct wanted *w = ctx;

	w->found |= rd_nldev_parse_bound(msg, len, &w->stat) == 0;
	return 0;
}

static int take_stat(const struct nlmsghdr *msg, size_t len, void *ctx)
{
	struct wanted *w = ctx;

	w->found |= rd_nldev_parse_stat(msg, len, &w->stat, w->name, &w->value) == 0;
	return 0;
}

int rd_nldev_stat_bind(struct rd_netlink *nl, struct rd_nldev_stat *stat, struct rd_error *err)
{
	struct wanted w = {.stat = *stat};

	if (rd_netlink_ask(nl, rd_nldev_stat_set_message(stat), take_bound, &w, err))
		return -1;
	if (!w.found)
		return rd_fail(
			err, RD_CLASS_DEVICE, 0, NULL, "the kernel's response names no counter");
	*stat = w.stat;
	return 0;
}

int rd_nldev_stat_read(struct rd_netlink *nl, const struct rd_nldev_stat *stat, const char *name,
	uint64_t *value, struct rd_error *err)
{
	struct wanted w = {.stat = *stat, .name = name};

	if (rd_netlink_ask(nl, rd_nldev_stat_get_message(stat), take_stat, &w, err))
		return -1;
	if (!w.found)
		return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "counter set %u has no '%s'",
			stat->counter, name);
	*value = w.value;
	return 0;
}

static int take_qps(const struct nlmsghdr *msg, size_t len, void *r)
{
	rd_nldev_parse_qps(msg, len, r);
	return 0;
}

static int take_summary(const struct nlmsghdr *msg, size_t len, void *r)
{
	rd_nldev_parse_summary(msg, len, r);
	return 0;
}

/* QPs are listed for one device at a time. */
static int load_qps(struct rd_netlink *nl, const struct rd_nldev_devices *devices,
	const char *device, struct rd_resources *r, struct rd_error *err)
{
	bool found = false;

	for (size_t i = 0; i < devices->n; i++) {
		if (device && strcmp(device, devices->dev[i].name))
			continue;
		found = true;
		if (rd_netlink_ask(nl, request(RDMA_NLDEV_CMD_RES_QP_GET, &devices->dev[i].index),
			    take_qps, r, err))
			return -1;
	}
	return device && !found ? unknown_device(device, err) : 0;
}

static int load(struct rd_resources *r, const char *device, bool counts_too, struct rd_error *err)
{
	struct rd_nldev_devices devices = {0};
	struct rd_netlink *nl;
	int ret;

	*r = (struct rd_resources){0};
	if (rd_netlink_open(&nl, NETLINK_RDMA, err))
		return -1;
	ret = load_devices(nl, &devices, err);
	/* Counts are listed for all devices at once. */
	if (!ret && counts_too)
		ret = rd_netlink_ask(
			nl, request(RDMA_NLDEV_CMD_RES_GET, NULL), take_summary, r, err);
	if (!ret)
		ret = load_qps(nl, &devices, device, r, err);
	rd_nldev_free(&devices);
	rd_netlink_close(nl);
	if (ret)
		rd_resources_free(r);
	return ret;
}

int rd_resources_load(struct rd_resources *r, const char *device, struct rd_error *err)
{
	if (load(r, device, true, err))
		return -1;
	rd_resources_name("", r);
	return 0;
}

int rd_resources_qps(struct rd_resources *r, const char *device, struct rd_error *err)
{
	return load(r, device, false, err);
}

#else

/* Nobody has a socket: rd_netlink_open() fails. */
int rd_nldev_index(struct rd_netlink *nl, const char *name, uint32_t *index, struct rd_error *err)
{
	(void)name;
	*index = 0;
	return rd_netlink_open(&nl, NETLINK_RDMA, err);
}

int rd_nldev_stat_bind(struct rd_netlink *nl, struct rd_nldev_stat *stat, struct rd_error *err)
{
	(void)stat;
	return rd_netlink_open(&nl, NETLINK_RDMA, err);
}

int rd_nldev_stat_read(struct rd_netlink *nl, const struct rd_nldev_stat *stat, const char *name,
	uint64_t *value, struct rd_error *err)
{
	(void)stat;
	(void)name;
	*value = 0;
	return rd_netlink_open(&nl, NETLINK_RDMA, err);
}

int rd_nldev_parse_event(const struct nlmsghdr *msg, size_t len, struct rd_nldev_event *out)
{
	(void)msg;
	(void)len;
	*out = (struct rd_nldev_event){0};
	return -1;
}

bool rd_nldev_is_exclusive(void)
{
	return false;
}

int rd_nldev_load(struct rd_nldev_devices *devices, struct rd_error *err)
{
	struct rd_netlink *nl;

	*devices = (struct rd_nldev_devices){0};
	return rd_netlink_open(&nl, NETLINK_RDMA, err);
}

int rd_resources_load(struct rd_resources *r, const char *device, struct rd_error *err)
{
	struct rd_netlink *nl;

	(void)device;
	*r = (struct rd_resources){0};
	return rd_netlink_open(&nl, NETLINK_RDMA, err);
}

int rd_resources_qps(struct rd_resources *r, const char *device, struct rd_error *err)
{
	return rd_resources_load(r, device, err);
}

#endif
