/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Joins all channels that report events of RDMA devices: uevents, RDMA netlink, rtnetlink, verbs,
 * and differences between two readings of sysfs.
 */
#include "monitored.h"
#include <errno.h>
#include <netlink/socket.h>
#include <rdmadump/fd.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

#define MESSAGE_BYTES 8192
#define MESSAGES_MAX                                                                               \
	256 /* messages taken from one socket in a row, so that it does not starve the others */
#define LIST_SECONDS 1 /* between two comparisons with the list of devices */
#define UEVENT_GROUP 1 /* the kernel's own, not udev's */

/*
 * Ports are read again after an event, since the kernel updates the GID table and the port's state
 * in a work queue some time later: after 50, 150, 350, 750 and 1550 ms.
 */
#define READING_FIRST_MS 50
#define READINGS	 5

struct rd_monitor {
	int epoll;
	int links, uevents; /* sockets; -1: none */
	int list_timer, reading_timer;
	unsigned int readings; /* since the last event */
	struct nl_sock *nldev;
	struct monitored all;
};

/* --- timers ------------------------------------------------------------------------------ */

static int listen_to(const struct rd_monitor *m, int fd)
{
	struct epoll_event want = {.events = EPOLLIN, .data.fd = fd};

	return fd < 0 ? -1 : epoll_ctl(m->epoll, EPOLL_CTL_ADD, fd, &want);
}

static void set_timer(int fd, uint64_t first_ms, uint64_t every_ms)
{
	const struct itimerspec t = {{(time_t)(every_ms / 1000), (long)(every_ms % 1000) * 1000000},
		{(time_t)(first_ms / 1000), (long)(first_ms % 1000) * 1000000}};

	timerfd_settime(fd, 0, &t, NULL);
}

static void read_ports_soon(struct rd_monitor *m)
{
	m->readings = 0;
	set_timer(m->reading_timer, READING_FIRST_MS, 0);
}

static void read_ports(struct rd_monitor *m)
{
	bool is_last = ++m->readings == READINGS;

	monitored_read_ports(&m->all, is_last);
	for (size_t i = 0; i < m->all.n; i++)
		if (m->all.device[i].context)
			listen_to(m, m->all.device[i].context->async_fd);
	if (!is_last)
		set_timer(m->reading_timer, (uint64_t)READING_FIRST_MS << m->readings, 0);
}

/* --- devices ----------------------------------------------------------------------------- */

static void take_uevents(struct rd_monitor *m)
{
	char bytes[MESSAGE_BYTES];
	struct device_change change;
	ssize_t n;

	for (int i = 0; i < MESSAGES_MAX; i++) {
		n = recv(m->uevents, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n <= 0)
			return;
		if (rd_uevent_parse(bytes, (size_t)n, &change) &&
			monitored_change(&m->all, &change))
			read_ports_soon(m);
	}
}

/*
 * Finds what no uevent reports: containers get none, and the kernel may delay a device's removal
 * until it is closed.
 */
static void compare_with_list(struct rd_monitor *m)
{
	struct rd_nldev_devices list;

	if (rd_nldev_load(&list))
		return;
	if (monitored_compare(&m->all, &list))
		read_ports_soon(m);
	rd_nldev_free(&list);
}

static int noted(const struct nlmsghdr *msg, size_t len, void *ctx)
{
	(void)msg;
	(void)len;
	*(bool *)ctx = true;
	return 0;
}

/* A device or the netdev of one has changed: the list, and a reading of the ports, show what. */
static void take_notices(struct rd_monitor *m)
{
	bool any = false;

	rd_netlink_take(m->nldev, noted, &any);
	if (!any)
		return;
	compare_with_list(m);
	monitored_mark_all(&m->all);
	read_ports_soon(m);
}

/* --- netdevs ----------------------------------------------------------------------------- */

static void take_link(void *ctx, const struct rd_link_change *change)
{
	struct rd_monitor *m = ctx;

	if (monitored_link(&m->all, change))
		read_ports_soon(m);
}

/* --- life -------------------------------------------------------------------------------- */

/* Joins both: RDMA netlink may allow joining its group without sending events. */
static void open_channels(struct rd_monitor *m)
{
	m->links = rd_links_open();
	listen_to(m, m->links);
	m->uevents = rd_kernel_socket(NETLINK_KOBJECT_UEVENT, UEVENT_GROUP);
	listen_to(m, m->uevents);
	if (rd_netlink_open(&m->nldev, NETLINK_RDMA, NULL))
		return;
	if (!rd_netlink_join(m->nldev, RD_NLDEV_GROUP_NOTIFY)) {
		listen_to(m, nl_socket_get_fd(m->nldev));
		return;
	}
	nl_socket_free(m->nldev);
	m->nldev = NULL;
}

int rd_monitor_open(
	struct rd_monitor **out, const struct rd_monitor_config *config, struct rd_error *err)
{
	struct rd_monitor *m = calloc(1, sizeof(*m));

	*out = NULL;
	if (!m)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot watch devices");
	m->links = m->uevents = -1;
	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	m->list_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	m->reading_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (listen_to(m, m->list_timer) || listen_to(m, m->reading_timer)) {
		rd_fail(err, RD_CLASS_DEVICE, errno, "raise the limit of open files (ulimit -n)",
			"cannot watch devices");
		goto fail;
	}
	/* The devices are read after the channels are open, so that no change is missed. */
	open_channels(m);
	if (monitored_load(&m->all, config, err))
		goto fail;
	for (size_t i = 0; i < m->all.n; i++)
		if (m->all.device[i].context)
			listen_to(m, m->all.device[i].context->async_fd);
	set_timer(m->list_timer, LIST_SECONDS * 1000, LIST_SECONDS * 1000);
	*out = m;
	return 0;
fail:
	rd_monitor_close(m);
	return -1;
}

void rd_monitor_close(struct rd_monitor *m)
{
	if (!m)
		return;
	monitored_free(&m->all);
	nl_socket_free(m->nldev);
	rd_fd_close(&m->links);
	rd_fd_close(&m->uevents);
	rd_fd_close(&m->list_timer);
	rd_fd_close(&m->reading_timer);
	rd_fd_close(&m->epoll);
	free(m);
}

int rd_monitor_fd(const struct rd_monitor *m)
{
	return m->epoll;
}

/*
 * In this order, regardless of which became readable first: a netdev that is removed takes its
 * device with it, and events of a device that is gone are not reported.
 */
static void take_all(struct rd_monitor *m)
{
	for (int i = 0; m->links >= 0 && i < MESSAGES_MAX; i++)
		if (!rd_links_read(m->links, take_link, m))
			break;
	if (monitored_take_async(&m->all))
		read_ports_soon(m);
	if (m->uevents >= 0)
		take_uevents(m);
	if (m->nldev)
		take_notices(m);
	if (rd_fd_fired(m->reading_timer))
		read_ports(m);
	if (rd_fd_fired(m->list_timer))
		compare_with_list(m);
}

bool rd_monitor_next(struct rd_monitor *m, struct rd_event *event)
{
	struct epoll_event ready;

	if (events_next(&m->all.events, event))
		return true;
	if (epoll_wait(m->epoll, &ready, 1, 0) > 0)
		take_all(m);
	return events_next(&m->all.events, event);
}

void rd_monitor_names(const struct rd_monitor *m, char *buf, size_t size)
{
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < m->all.n && used < size; i++) {
		const struct rd_device *d = &m->all.device[i].device;
		const char *netdev = d->n_ports ? d->ports[0].netdevs[0].name : "";

		used += (size_t)snprintf(buf + used, size - used, "%s%s%s%s%s", i ? ", " : "",
			d->name, *netdev ? " (" : "", netdev, *netdev ? ")" : "");
	}
}

/* --- uevents of the kernel (lib/kobject_uevent.c of Linux) -------------------------------- */

static const struct {
	const char *action;
	enum device_change_kind kind;
} actions[] = {
	{"add", DEVICE_ADDED},
	{"remove", DEVICE_REMOVED},
	{"move", DEVICE_RENAMED},
};

/* The value of KEY in a list of NUL-ended "KEY=VALUE". */
static const char *find_value(const char *bytes, size_t len, const char *key)
{
	size_t n = strlen(key);

	while (len) {
		size_t used = strnlen(bytes, len);

		if (used == len)
			return NULL;
		if (used > n && !strncmp(bytes, key, n) && bytes[n] == '=')
			return bytes + n + 1;
		bytes += used + 1;
		len -= used + 1;
	}
	return NULL;
}

/* The last component of a path; "" without one. */
static void base_name(char *buf, size_t size, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	rd_text_clean(buf, size, slash ? slash + 1 : "");
}

bool rd_uevent_parse(const char *bytes, size_t len, struct device_change *change)
{
	const char *action = find_value(bytes, len, "ACTION");
	const char *subsystem = find_value(bytes, len, "SUBSYSTEM");

	*change = (struct device_change){0};
	base_name(change->name, sizeof(change->name), find_value(bytes, len, "DEVPATH"));
	base_name(
		change->previous, sizeof(change->previous), find_value(bytes, len, "DEVPATH_OLD"));
	if (!action || !subsystem || strcmp(subsystem, "infiniband") || !*change->name)
		return false;
	for (size_t i = 0; i < RD_COUNT(actions); i++)
		if (!strcmp(action, actions[i].action)) {
			change->kind = actions[i].kind;
			return true;
		}
	return false;
}
