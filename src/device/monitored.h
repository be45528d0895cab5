/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The devices that a monitor watches: their last known state, and the events not returned yet. */
#ifndef RDMADUMP_DEVICE_MONITORED_H
#define RDMADUMP_DEVICE_MONITORED_H

#include "device_changes.h"
#include "events.h"
#include "netlink/nldev.h"
#include <infiniband/verbs.h>
#include <rdmadump/verbs.h>

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
	struct device_changes changes;
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

/* The known name of the device with this index; "" if it is unknown. */
void monitored_name_by_index(const struct monitored *all, uint32_t index, char name[RD_NAME_MAX]);

#endif
