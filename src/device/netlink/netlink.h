/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests to the kernel on a netlink socket (netlink(7)), and their replies; by libnl-3. */
#pragma once

#include <linux/netlink.h>
#include <netlink/attr.h>
#include <rdmadump/array.h>
#include <rdmadump/event.h>
#include <rdmadump/info.h>
#include <rdmadump/printable.h>
#include <rdmadump/resource.h>
#include <string.h>

struct nl_msg;
struct nl_sock;

/* One whole message of `len` bytes, header included. Above 0: no further messages are wanted. */
typedef int rd_netlink_fn(const struct nlmsghdr *msg, size_t len, void *ctx);

/* `protocol` is NETLINK_RDMA, NETLINK_GENERIC ... To be freed with nl_socket_free(). */
int rd_netlink_open(struct nl_sock **nl, int protocol, struct rd_error *err);

/*
 * Sends `msg`, which is consumed, and calls `fn` for each reply until the kernel reports the end.
 * -1 with the kernel's error, or if `fn` wants no more. Waits 5 s at most.
 */
int rd_netlink_request(
	struct nl_sock *nl, struct nl_msg *msg, rd_netlink_fn *fn, void *ctx, struct rd_error *err);

/* Joins a multicast group: the descriptor becomes readable when a message arrives. */
int rd_netlink_join(struct nl_sock *nl, unsigned int group);
/* Calls `fn` for each message that has arrived. Does not block. */
void rd_netlink_take(struct nl_sock *nl, rd_netlink_fn *fn, void *ctx);

/* Reads one attribute of an untrusted netlink message; refuses one that is too short. */

static inline bool attr_get(const struct nlattr *a, void *value, size_t size)
{
	if (!a || nla_len(a) < 0 || (size_t)nla_len(a) < size)
		return false;
	memcpy(value, nla_data(a), size);
	return true;
}

/* As printable ASCII; false, and "", if there is none. */
static inline bool attr_text(const struct nlattr *a, char *buf, size_t size)
{
	char raw[256];
	size_t n = a && nla_len(a) > 0 ? (size_t)nla_len(a) : 0;

	n = RD_MIN(n, sizeof(raw) - 1);
	if (n)
		memcpy(raw, nla_data(a), n);
	raw[n] = '\0';
	rd_text_clean(buf, size, raw);
	return *buf != '\0';
}

/*
 * RDMA netlink's device messages (include/uapi/rdma/rdma_netlink.h, client RDMA_NL_NLDEV): the
 * requests, and the parsers of replies, which treat lengths and text as untrusted.
 */

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

/* Which kernel module uses a QP that the connection manager made for it. Pure functions. */

/* Whether there are such QPs. */
bool cm_users_wanted(const struct rd_resources *r);
/*
 * Sets their comm and service_port from the sorted list of cm_ids. A QP that matches no cm_id, or
 * cm_ids of several modules, keeps the connection manager as its owner.
 */
void cm_users_find(struct rd_resources *r);

/* Devlink (include/uapi/linux/devlink.h): what firmware the device runs and stores. */

/* Appends versions and serial number of a PCI device; nothing without devlink. */
void rd_devlink_firmware(struct rd_info *info);

/* Parses a reply of `len` bytes; -1 if it is another message or malformed. */
int rd_devlink_parse_info(const struct nlmsghdr *msg, size_t len, void *info); /* struct rd_info */

/* DCB netlink (RTM_GETDCB; net/dcb/dcbnl.c of Linux): the request, and the parser of the reply. */

/*
 * Queries the netdev dcb->netdev of this network namespace. -1 with the kernel's error: EOPNOTSUPP
 * if its driver has no DCB. Needs no privilege.
 */
int rd_dcb_request(struct rd_dcb *dcb, struct rd_error *err);

/*
 * Parses a reply to DCB_CMD_IEEE_GET of `len` bytes. Attributes that are too short are left out. -1
 * if it is another message, malformed, or out of memory. rd_dcb_free() in any case.
 */
int rd_dcb_parse(const struct nlmsghdr *msg, size_t len, struct rd_dcb *dcb);

/* Kernel multicast sockets without libnl, and the parser of rtnetlink(7) messages. */

/* A socket that does not block and receives the groups' messages; -1 with errno. close(). */
int rd_kernel_socket(int protocol, unsigned int groups);

/* Parses one message of at most `len` bytes; false if it is neither about a link nor an address. */
bool rd_link_parse(const struct nlmsghdr *msg, size_t len, struct rd_link_change *change);
