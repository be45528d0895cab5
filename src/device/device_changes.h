/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device that was added, removed or renamed is reported by up to three channels. This decides
 * which of them is the first to report a change.
 */
#ifndef RDMADUMP_DEVICE_CHANGES_H
#define RDMADUMP_DEVICE_CHANGES_H

#include <rdmadump/device.h>
#include <stdbool.h>
#include <stddef.h>

enum device_change_kind { DEVICE_ADDED, DEVICE_REMOVED, DEVICE_RENAMED };

enum device_channel {
	CHANNEL_NLDEV,	/* RDMA netlink's notifications, since Linux 6.12 */
	CHANNEL_UEVENT, /* do not reach containers with a user namespace of their own */
	CHANNEL_LIST,	/* RDMA netlink's list of devices, compared with ours */
	N_CHANNELS,
};

struct device_change {
	enum device_change_kind kind;
	enum device_channel channel;
	char name[RD_NAME_MAX];
	char previous[RD_NAME_MAX]; /* renamed: the old name; "" if the channel does not report it
				     */
};

struct device_changes {
	struct device_change_row *rows;
	size_t n;
};

/*
 * True if no other channel has reported this change: each channel reports every change of a device
 * at most once, in order, so the n-th report of one channel is the n-th of any other. Also false if
 * out of memory.
 */
bool device_change_is_new(struct device_changes *changes, const struct device_change *change);
void device_changes_free(struct device_changes *changes);

/*
 * Parses one uevent of `len` bytes ("add@/devices/...", then KEY=VALUE, each ended by NUL). False
 * if it is not about an RDMA device that was added, removed or renamed.
 */
bool rd_uevent_parse(const char *bytes, size_t len, struct device_change *change);

#endif
