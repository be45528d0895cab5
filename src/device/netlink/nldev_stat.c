/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters that are bound to one QP, by RDMA netlink (drivers/infiniband/core/counters.c of Linux).
 */
#include "nldev.h"
#include "nldev_message.h"

static bool is_number(const struct nlattr *a, uint32_t wanted)
{
	uint32_t value = 0;

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

	if (rd_netlink_request(nl, rd_nldev_stat_set_message(stat), take_bound, &w, err))
		return -1;
	if (!w.found)
		return rd_fail(
			err, RD_CLASS_DEVICE, 0, NULL, "the kernel's response has no counter");
	*stat = w.stat;
	return 0;
}

int rd_nldev_stat_read(struct rd_netlink *nl, const struct rd_nldev_stat *stat, const char *name,
	uint64_t *value, struct rd_error *err)
{
	struct wanted w = {.stat = *stat, .name = name};

	if (rd_netlink_request(nl, rd_nldev_stat_get_message(stat), take_stat, &w, err))
		return -1;
	if (!w.found)
		return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "counter set %u has no '%s'",
			stat->counter, name);
	*value = w.value;
	return 0;
}
