/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA netlink's device messages (include/uapi/rdma/rdma_netlink.h, client RDMA_NL_NLDEV): the
 * requests, and the parsers of replies, which treat lengths and text as untrusted.
 */
#ifndef RDMADUMP_DEVICE_NLDEV_H
#define RDMADUMP_DEVICE_NLDEV_H

#include "netlink.h"
#include <rdmadump/resource.h>

struct rd_nldev_device {
	uint32_t index; /* stays the same when the device is renamed */
	char name[RD_NAME_MAX];
};

struct rd_nldev_devices {
	struct rd_nldev_device *dev;
	size_t n;
};

/* The devices that this network namespace sees. -1 where there is no RDMA netlink. */
int rd_nldev_load(struct rd_nldev_devices *devices);
/* What rd_resources_qps() lists, and the counts too; all of it without processes' commands. */
int rd_nldev_resources(
	struct rd_resources *r, const char *device, bool counts_too, struct rd_error *err);
/* Each device belongs to one network namespace. False also where the kernel does not say. */
bool rd_nldev_is_exclusive(void);
void rd_nldev_free(struct rd_nldev_devices *devices);

/*
 * Notifications about devices and their netdevs. Older kernels allow joining the group but send
 * nothing; Linux 6.12 is the first that does.
 */
#define RD_NLDEV_GROUP_NOTIFY 4

/*
 * Parsers. `msg` has `len` bytes. 0 with *out filled, or with something appended; -1 if the message
 * is another one, malformed, or out of memory.
 */
int rd_nldev_parse_device(const struct nlmsghdr *msg, size_t len, struct rd_nldev_device *out);
/* Does not read the commands of processes: rd_resources_name() does. */
int rd_nldev_parse_qps(const struct nlmsghdr *msg, size_t len, struct rd_resources *r);
/* Those with a `void *` can be passed to rd_netlink_request(). Connections and listeners of the
 * connection manager, counts (`r`: struct rd_resources); a bool. */
int rd_nldev_parse_cm_ids(const struct nlmsghdr *msg, size_t len, void *r);
int rd_nldev_parse_summary(const struct nlmsghdr *msg, size_t len, void *r);
int rd_nldev_parse_system(const struct nlmsghdr *msg, size_t len, void *exclusive);

#endif
