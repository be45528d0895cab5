/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The devices that a monitor watches: their last known state, and the events not returned yet. */
#pragma once

#include "netlink/netlink.h"
#include <infiniband/verbs.h>
#include <rdmadump/verbs.h>

/* The queue of events that a monitor has not returned yet. */

struct events {
	struct rd_event *event;
	size_t first, n;
};

/* Where events go, and what those of one origin about one port, or a device, have in common. */
struct event_to {
	struct events *queue;
	struct rd_event as;
};

/* Appends an event of this time. netdev, previous: "" if there is none. */
__attribute__((format(printf, 5, 6))) void events_put(const struct event_to *to, const char *kind,
	const char *netdev, const char *previous, const char *fmt, ...);
/* The oldest one; false: there is none. */
bool events_next(struct events *queue, struct rd_event *event);

/* Differences from the last known state of a port become events. */

/* Between two readings of sysfs. */

/* GIDs removed, then GIDs added, each with its index and type. Returns how many there are. */
unsigned int port_gid_changes(const struct rd_port *before, const struct rd_port *now,
	bool is_iwarp, const struct event_to *to);
/* State, LID and LID of the subnet manager. */
void port_state_changes(
	const struct rd_port *before, const struct rd_port *now, const struct event_to *to);
/* Netdevs that the port gained or lost, compared by index; a new name is not a change here. */
void port_netdev_changes(
	const struct rd_port *before, const struct rd_port *now, const struct event_to *to);

/*
 * By a message of rtnetlink: updates the port's netdevs and reports each difference: name, MAC
 * address, MTU, up or down, removed. True if the message is about this port; its GIDs may then have
 * changed too.
 */
bool netdev_changes(
	struct rd_port *port, const struct rd_link_change *change, const struct event_to *to);

enum device_change_kind { DEVICE_ADDED, DEVICE_REMOVED, DEVICE_RENAMED };

struct device_change {
	enum device_change_kind kind;
	bool from_list; /* else from a uevent; those do not reach containers with a user namespace
			   of their own */
	char name[RD_NAME_MAX];
	char previous[RD_NAME_MAX]; /* renamed: the old name; "" if it is not reported */
};

/*
 * monitor.c: parses one uevent of `len` bytes ("add@/devices/...", then KEY=VALUE, each ended by
 * NUL). False if it is not about an RDMA device that was added, removed or renamed.
 */
bool rd_uevent_parse(const char *bytes, size_t len, struct device_change *change);

struct monitored_device {
	struct rd_device device;     /* owned; ports as they were last read */
	struct ibv_context *context; /* for asynchronous events; NULL: not open */
	bool to_open;		     /* as soon as its device file exists */
	bool to_read;		     /* its ports may have changed */
	bool gid_event;		     /* verbs reported a change of the GID table ... */
	bool gid_reported;	     /* ... and a difference was found since */
	unsigned int gid_port;	     /* port of that event */
	bool has_index;
	uint32_t index; /* RDMA netlink's index */
};

struct monitored {
	struct monitored_device *device;
	size_t n;
	bool one; /* only the device called `only` */
	char only[RD_NAME_MAX];
	bool async;
	struct device_change expected[16]; /* the list showed them: their uevents are to come */
	size_t n_expected;
	struct events events;
};

/* Reads the devices of the machine; opens them if config requests it. */
int monitored_load(
	struct monitored *all, const struct rd_monitor_config *config, struct rd_error *err);
void monitored_free(struct monitored *all);

/* These process what a channel reports. True: ports may have changed and must be read again. */
bool monitored_change(struct monitored *all, const struct device_change *change);
bool monitored_compare(struct monitored *all, const struct rd_nldev_devices *list);
bool monitored_link(struct monitored *all, const struct rd_link_change *change);
bool monitored_take_async(struct monitored *all);

/* The ports of all devices may have changed. */
void monitored_mark_all(struct monitored *all);
/* Reads ports that may have changed. `is_last`: no other reading is due after this one. */
void monitored_read_ports(struct monitored *all, bool is_last);
