/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Watches a netdev and the RDMA port on it during a capture. */
#ifndef RDMADUMP_SOURCE_NETDEV_WATCH_H
#define RDMADUMP_SOURCE_NETDEV_WATCH_H

#include <rdmadump/device.h>
#include <rdmadump/source.h>

struct netdev_watch;

struct netdev_watch_state {
	bool removed;
	bool addresses_changed; /* MAC or IP addresses of a netdev changed; the caller clears it */
	/* "netdev down 12:00:01-12:00:03, frames may be missing"; "" if it never was down. */
	char missing[96];
};

/*
 * Watches the link of `ifindex`, and the RDMA port on it if there is one. Opens no device, so that
 * its driver can be unloaded. *fd becomes readable after a change. Returns 0, or -1 with
 * RD_CLASS_DEVICE.
 */
int netdev_watch_open(struct netdev_watch **w, unsigned int ifindex, const struct rd_device *device,
	const struct rd_port *port, int *fd, struct rd_error *err);
void netdev_watch_close(struct netdev_watch *w);

/* Stores changes of the netdev as notes. Does not block; one system call if there are none. */
void netdev_watch_link(struct netdev_watch *w, struct rd_source *src);
/* Stores changes of the RDMA port as notes. May read many files of sysfs. */
void netdev_watch_port(struct netdev_watch *w, struct rd_source *src);
/* The netdev was removed: its last change to down was part of the removal. */
void netdev_watch_end(struct netdev_watch *w);
/* The state after all messages processed so far. */
struct netdev_watch_state *netdev_watch_state(struct netdev_watch *w);

/* The netdev's flags (IFF_...), 0 if they cannot be read. */
unsigned int netdev_flags(const char *name);
/*
 * Adds the current MAC addresses of the netdev and of the port's other netdevs. Those in `local`
 * are kept: frames in the ring may have been sent from them.
 */
void netdev_addresses_add(unsigned int ifindex, const struct rd_port *port, struct rd_local *local);

#endif
