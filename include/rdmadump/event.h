/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events of devices as they occur: asynchronous events of verbs (ibv_get_async_event(3)),
 * and where verbs has none, the kernel's own messages on devices and netdevs.
 */
#ifndef RDMADUMP_EVENT_H
#define RDMADUMP_EVENT_H

#include <rdmadump/device.h>
#include <rdmadump/error.h>

struct rd_event {
	uint64_t ts_ns;		  /* since the Unix epoch, when it was read */
	char device[RD_NAME_MAX]; /* "" if it is not known */
	unsigned int port;	  /* 0: the whole device */
	char netdev[IF_NAMESIZE]; /* "" if it is not of one */
	const char *kind;	  /* "port_active": for programs; static */
	const char *text;	  /* "port up": for people; static */
	const char *origin;	  /* "verbs", "rdma netlink", "rtnetlink", "uevent" */
};

struct rd_monitor;

/*
 * Watches `device`, or all of `devices` if it is NULL; `devices` must outlive the monitor. A device
 * that verbs cannot open is logged and watched by the other sources of events. The kernel waits
 * with the removal of a software device until it is closed here, which happens within a second.
 * Fails if nothing at all can be watched.
 */
int rd_monitor_open(struct rd_monitor **m, const struct rd_devices *devices,
	const struct rd_device *device, struct rd_error *err);
void rd_monitor_close(struct rd_monitor *m);

/* Readable when there is something to take. */
int rd_monitor_fd(const struct rd_monitor *m);
/* The next event; false when there is none now. Never waits. */
bool rd_monitor_next(struct rd_monitor *m, struct rd_event *event);

/* --- network links ------------------------------------------------------------------------- */

/* A link's state, from one message of rtnetlink. */
struct rd_link_state {
	unsigned int ifindex;
	unsigned int flags; /* IFF_... of netdevice(7): IFF_RUNNING is carrier and up */
	bool removed;
	char name[IF_NAMESIZE]; /* printable ASCII; "" if the message has none */
};
typedef void rd_link_fn(void *ctx, const struct rd_link_state *link);

/* A socket that becomes readable when a link changes; does not block. -1 with errno. close(). */
int rd_links_open(void);
/* Reads one datagram of it and calls fn for each link in it; false: there is none now. */
bool rd_links_read(int fd, rd_link_fn *fn, void *ctx);

#endif
