/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Joins two descriptors into one: rtnetlink's for the link, the monitor's for the RDMA port. */
#include "netdev_watch.h"
#include <errno.h>
#include <rdmadump/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct netdev_watch {
	int epoll, link;
	struct rd_monitor *monitor; /* NULL: there is no RDMA port */
	unsigned int port;
};

static int add(const struct netdev_watch *w, int fd)
{
	struct epoll_event want = {.events = EPOLLIN};

	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &want);
}

int netdev_watch_open(struct netdev_watch **out, unsigned int ifindex,
	const struct rd_device *device, const struct rd_port *port, int *fd, struct rd_error *err)
{
	struct netdev_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the source");
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->link = rd_links_open();
	*out = w;
	if (w->epoll < 0 || w->link < 0 || add(w, w->link) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno, NULL,
			"netlink, to watch the netdev with index %u", ifindex);
	*fd = w->epoll;
	if (!device || !port || device->copied)
		return 0;
	w->port = port->num;
	if (rd_monitor_open(&w->monitor, NULL, device, err) ||
		add(w, rd_monitor_fd(w->monitor)) < 0)
		return -1;
	return 0;
}

void netdev_watch_close(struct netdev_watch *w)
{
	if (!w)
		return;
	rd_monitor_close(w->monitor);
	if (w->link >= 0)
		close(w->link);
	if (w->epoll >= 0)
		close(w->epoll);
	free(w);
}

int netdev_watch_link(const struct netdev_watch *w)
{
	return w->link;
}

/* The netdev's own state is noted by the source. */
void netdev_watch_service(struct netdev_watch *w, struct rd_source *src)
{
	struct rd_event event;

	while (w->monitor && rd_monitor_next(w->monitor, &event))
		if (strcmp(event.origin, "rtnetlink") != 0 &&
			(!event.port || event.port == w->port))
			rd_source_note(src, "%s: %s", event.device, event.text);
}
