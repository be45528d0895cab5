/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Watches a netdev and the RDMA port on it during a capture. */
#ifndef RDMADUMP_SOURCE_NETDEV_WATCH_H
#define RDMADUMP_SOURCE_NETDEV_WATCH_H

#include <rdmadump/device.h>
#include <rdmadump/source.h>

struct netdev_watch;

/*
 * Watches the link of `ifindex`, and the asynchronous events of `port` where there is one and verbs
 * can open its device. *fd becomes readable when something happened.
 */
int netdev_watch_open(struct netdev_watch **w, unsigned int ifindex, const struct rd_device *device,
	const struct rd_port *port, int *fd, struct rd_error *err);
void netdev_watch_close(struct netdev_watch *w);

/* The socket for rd_links_read(). */
int netdev_watch_link(const struct netdev_watch *w);
/* Notes what happened to the RDMA port. */
void netdev_watch_service(struct netdev_watch *w, struct rd_source *src);

#endif
