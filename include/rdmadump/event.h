/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events of RDMA devices as they occur: devices added, removed and renamed, changes of ports, GIDs
 * and netdevs, and the asynchronous events of verbs (ibv_get_async_event(3)).
 */
#pragma once

#include <rdmadump/device.h>

struct rd_event {
	uint64_t ts_ns;		    /* since the Unix epoch, when it was read */
	char device[RD_NAME_MAX];   /* "" if it is not known */
	unsigned int port;	    /* 0: the whole device */
	char netdev[IF_NAMESIZE];   /* "" if it is not about a netdev */
	const char *kind;	    /* "port_active": for programs; static */
	char text[128];		    /* "port up": for users */
	const char *origin;	    /* "verbs", "rdma netlink", "rtnetlink", "uevent", "sysfs" */
	char previous[RD_NAME_MAX]; /* the name, MAC address or MTU before; "" if there is none */
	struct rd_gid gid;	    /* that was added or removed, if has_gid */
	bool has_gid;
};

struct rd_monitor;

struct rd_monitor_config {
	const char *device; /* only this one, followed when it is renamed; NULL: all */
	/*
	 * Opens the devices for asynchronous events. An open device keeps its kernel module in use.
	 * rdma_rxe and siw are never opened: sysfs shows all that they would report.
	 */
	bool async;
};

/*
 * Watches devices of this network namespace, also those that are added later. Each change is
 * reported once, whichever channel reports it. A device that verbs cannot open is logged, and
 * watched by the other channels. config is not kept. Fails if nothing at all can be watched.
 */
int rd_monitor_open(
	struct rd_monitor **m, const struct rd_monitor_config *config, struct rd_error *err);
void rd_monitor_close(struct rd_monitor *m);

/* Readable when an event is pending. */
int rd_monitor_fd(const struct rd_monitor *m);
/* The next event; false when there is none now. Never waits. */
bool rd_monitor_next(struct rd_monitor *m, struct rd_event *event);
/* "rxe0 (eth0), mlx5_0 (enp1s0)", "" if there is none now. */
void rd_monitor_names(const struct rd_monitor *m, char *buf, size_t size);

/* --- network links ------------------------------------------------------------------------- */

enum rd_link_change_kind {
	RD_LINK_STATE,
	RD_LINK_REMOVED,
	RD_LINK_ADDRESS, /* an IP address was added or removed; only ifindex is set */
};

/* The state of a link from one rtnetlink message. */
struct rd_link_change {
	enum rd_link_change_kind kind;
	unsigned int ifindex;
	unsigned int flags;	/* IFF_... of netdevice(7): IFF_RUNNING is carrier and up */
	char name[IF_NAMESIZE]; /* printable ASCII; "" if the message has none */
	bool has_mac;
	uint8_t mac[6];
	uint32_t mtu; /* bytes; 0 if the message has none */
};
typedef void rd_link_fn(void *ctx, const struct rd_link_change *change);

/* A socket that becomes readable when a link or an address changes. -1 with errno. close(). */
int rd_links_open(void);
/* Reads one datagram of it and calls fn for each change in it. False: there is none now. */
bool rd_links_read(int fd, rd_link_fn *fn, void *ctx);
