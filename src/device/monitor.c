/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Listens to all sources of device events and hands out one event after the other. */
#include "netlink/netlink.h"
#include "netlink/nldev.h"
#include "netlink/rtnetlink.h"
#include "uevent.h"
#include <errno.h>
#include <net/if.h>
#include <rdmadump/log.h>
#include <rdmadump/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define QUEUE	      64 /* events taken in one go and not yet handed out */
#define MESSAGE_BYTES 8192
#define LOOK_SECONDS  1
#define UEVENT_GROUP  1 /* the kernel's own, not udev's */

struct watched {
	const struct rd_device *device;
	struct ibv_context *context; /* NULL: verbs could not open it, or it is gone */
	bool has_index, removed;     /* removed: already reported */
	uint32_t index;		     /* RDMA netlink's, which survives renaming */
};

struct netdev_state {
	const struct rd_device *device;
	unsigned int port, ifindex;
	char name[IF_NAMESIZE];
	bool up, known;
};

struct rd_monitor {
	int epoll;
	struct watched *watched;
	size_t n_watched;
	struct netdev_state *netdevs;
	size_t n_netdevs;
	int links, uevents, timer; /* -1: none */
	struct rd_netlink *nldev;
	struct rd_event queue[QUEUE];
	unsigned int first, n;
	bool one; /* only one device is asked for */
};

static void push(struct rd_monitor *m, const struct rd_event *event)
{
	struct timespec now;
	struct rd_event *to;

	if (m->n == QUEUE)
		return;
	to = &m->queue[(m->first + m->n++) % QUEUE];
	*to = *event;
	clock_gettime(CLOCK_REALTIME, &now);
	to->ts_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- verbs ------------------------------------------------------------------------------- */

static void stop_watching(struct rd_monitor *m, struct watched *w)
{
	epoll_ctl(m->epoll, EPOLL_CTL_DEL, w->context->async_fd, NULL);
	ibv_close_device(w->context);
	w->context = NULL;
}

static void take_verbs(struct rd_monitor *m, struct watched *w)
{
	struct ibv_async_event event;
	bool fatal = false;

	errno = EAGAIN;
	while (m->n < QUEUE && !ibv_get_async_event(w->context, &event)) {
		const struct rd_async_event *row = rd_async_event(event.event_type);

		if (row) {
			struct rd_event e = {
				.kind = row->kind, .text = row->text, .origin = "verbs"};

			memcpy(e.device, w->device->name, sizeof(e.device));
			if (row->of_port)
				e.port = (unsigned int)event.element.port_num;
			push(m, &e);
		}
		fatal |= event.event_type == IBV_EVENT_DEVICE_FATAL;
		ibv_ack_async_event(&event);
		errno = EAGAIN;
	}
	/* Nothing more will come, and a closed device may be removed. */
	if (fatal || errno == EIO || errno == ENODEV)
		stop_watching(m, w);
}

static int listen_to(struct rd_monitor *m, int fd)
{
	struct epoll_event want = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(m->epoll, EPOLL_CTL_ADD, fd, &want);
}

static void watch_verbs(struct rd_monitor *m, const struct rd_device *device)
{
	struct watched *w = &m->watched[m->n_watched++];
	struct rd_error why;

	w->device = device;
	if (rd_verbs_device_open(&w->context, device->name, NULL, NULL, &why) < 0) {
		rd_log(RD_LOG_WARNING, "no asynchronous events of %s: %s", device->name, why.text);
		return;
	}
	rd_fd_nonblocking(w->context->async_fd);
	listen_to(m, w->context->async_fd);
}

/*
 * The kernel waits with the removal of a software device until we close it, and reports nothing
 * before. But RDMA netlink lists it no more.
 */
static void look_for_removed(struct rd_monitor *m)
{
	struct rd_nldev_devices seen;
	uint64_t ticks;

	if (read(m->timer, &ticks, sizeof(ticks)) < 0 || rd_nldev_load(&seen, NULL))
		return;
	for (size_t i = 0; i < m->n_watched; i++) {
		struct watched *w = &m->watched[i];
		struct rd_event e = {.kind = "device_removed",
			.text = "device removed",
			.origin = "rdma netlink"};
		bool there = false;

		for (size_t k = 0; k < seen.n; k++)
			there |= seen.dev[k].index == w->index;
		if (there || !w->has_index || !w->context)
			continue;
		memcpy(e.device, w->device->name, sizeof(e.device));
		push(m, &e);
		w->removed = true;
		stop_watching(m, w);
	}
	rd_nldev_free(&seen);
}

static void start_looking(struct rd_monitor *m)
{
	const struct itimerspec every = {{.tv_sec = LOOK_SECONDS}, {.tv_sec = LOOK_SECONDS}};
	struct rd_nldev_devices seen;

	if (rd_nldev_load(&seen, NULL))
		return;
	for (size_t i = 0; i < m->n_watched; i++)
		for (size_t k = 0; k < seen.n; k++)
			if (!strcmp(seen.dev[k].name, m->watched[i].device->name)) {
				m->watched[i].index = seen.dev[k].index;
				m->watched[i].has_index = true;
			}
	rd_nldev_free(&seen);
	m->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (m->timer >= 0 && !timerfd_settime(m->timer, 0, &every, NULL))
		listen_to(m, m->timer);
}

/* --- the kernel's messages -------------------------------------------------------------- */

/* Events of devices that are not watched count only where all are. A removal is reported once. */
static bool is_wanted(const struct rd_monitor *m, const char *name, const char *kind)
{
	for (size_t i = 0; i < m->n_watched; i++)
		if (!strcmp(m->watched[i].device->name, name))
			return !m->watched[i].removed || strcmp(kind, "device_removed") != 0;
	return !m->one;
}

static int take_nldev(const struct nlmsghdr *msg, size_t len, void *ctx)
{
	static const char *const kinds[] = {"device_added", "device_removed", "netdev_attached",
		"netdev_detached", "device_renamed", "netdev_renamed"};
	struct rd_monitor *m = ctx;
	struct rd_nldev_event event;
	struct rd_event e = {.origin = "rdma netlink"};

	if (rd_nldev_parse_event(msg, len, &event) || !rd_nldev_event_text(event.type) ||
		event.type >= sizeof(kinds) / sizeof(*kinds) ||
		!is_wanted(m, event.device, kinds[event.type]))
		return 0;
	e.kind = kinds[event.type];
	e.text = rd_nldev_event_text(event.type);
	e.port = event.port;
	memcpy(e.device, event.device, sizeof(e.device));
	memcpy(e.netdev, event.netdev, sizeof(e.netdev));
	push(m, &e);
	return 0;
}

static void take_uevents(struct rd_monitor *m)
{
	char bytes[MESSAGE_BYTES];
	struct rd_event e;
	ssize_t n;

	while (m->n < QUEUE && (n = recv(m->uevents, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		if (rd_uevent_parse(bytes, (size_t)n, &e) && is_wanted(m, e.device, e.kind))
			push(m, &e);
}

static void take_link(void *ctx, const struct rd_link_state *link)
{
	struct rd_monitor *m = ctx;
	bool up = link->flags & IFF_RUNNING;

	for (size_t i = 0; i < m->n_netdevs; i++) {
		struct netdev_state *n = &m->netdevs[i];
		struct rd_event e = {.origin = "rtnetlink", .port = n->port};

		if (n->ifindex != link->ifindex || (n->known && n->up == up && !link->removed))
			continue;
		e.kind = link->removed ? "netdev_removed" : up ? "netdev_up" : "netdev_down";
		e.text = link->removed ? "netdev removed" : up ? "netdev up" : "netdev down";
		n->up = up;
		n->known = true;
		memcpy(e.device, n->device->name, sizeof(e.device));
		memcpy(e.netdev, *link->name ? link->name : n->name, sizeof(e.netdev));
		push(m, &e);
	}
}

static void take_links(struct rd_monitor *m)
{
	while (m->n < QUEUE && rd_links_read(m->links, take_link, m))
		;
}

static int watch_netdevs(struct rd_monitor *m, const struct rd_device *device)
{
	for (unsigned int p = 0; p < device->n_ports; p++)
		for (unsigned int i = 0; i < device->ports[p].n_netdevs; i++) {
			const struct rd_netdev *netdev = &device->ports[p].netdevs[i];
			struct netdev_state *grown =
				reallocarray(m->netdevs, m->n_netdevs + 1, sizeof(*grown));

			if (!grown)
				return -1;
			m->netdevs = grown;
			grown = &m->netdevs[m->n_netdevs++];
			*grown = (struct netdev_state){.device = device,
				.port = device->ports[p].num,
				.ifindex = netdev->ifindex,
				.up = !strcmp(netdev->operstate, "up") ||
				      !strcmp(netdev->operstate, "unknown"),
				.known = *netdev->operstate != '\0'};
			memcpy(grown->name, netdev->name, sizeof(grown->name));
		}
	return 0;
}

/* Linux 6.12 reports devices by RDMA netlink; older ones only by uevents. */
static void watch_devices(struct rd_monitor *m)
{
	if (!rd_netlink_open(&m->nldev, NETLINK_RDMA, NULL)) {
		if (!rd_netlink_join(m->nldev, RD_NLDEV_GROUP_NOTIFY)) {
			listen_to(m, rd_netlink_fd(m->nldev));
			return;
		}
		rd_netlink_close(m->nldev);
		m->nldev = NULL;
	}
	m->uevents = rd_kernel_socket(NETLINK_KOBJECT_UEVENT, UEVENT_GROUP);
	if (m->uevents >= 0)
		listen_to(m, m->uevents);
}

int rd_monitor_open(struct rd_monitor **out, const struct rd_devices *devices,
	const struct rd_device *device, struct rd_error *err)
{
	size_t n = device ? 1 : devices->n;
	struct rd_monitor *m = calloc(1, sizeof(*m));

	*out = NULL;
	if (!m)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot watch devices");
	m->links = m->uevents = m->timer = -1;
	m->one = device != NULL;
	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	m->watched = calloc(n ? n : 1, sizeof(*m->watched));
	if (m->epoll < 0 || !m->watched)
		goto fail;
	/* Listening comes before looking, so that nothing falls between. */
	m->links = rd_links_open();
	if (m->links >= 0)
		listen_to(m, m->links);
	watch_devices(m);
	for (size_t i = 0; i < n; i++) {
		const struct rd_device *d = device ? device : &devices->dev[i];

		watch_verbs(m, d);
		if (watch_netdevs(m, d))
			goto fail;
	}
	start_looking(m);
	*out = m;
	return 0;
fail:
	rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "cannot watch devices");
	rd_monitor_close(m);
	return -1;
}

void rd_monitor_close(struct rd_monitor *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_watched; i++)
		if (m->watched[i].context)
			ibv_close_device(m->watched[i].context);
	rd_netlink_close(m->nldev);
	if (m->links >= 0)
		close(m->links);
	if (m->uevents >= 0)
		close(m->uevents);
	if (m->timer >= 0)
		close(m->timer);
	if (m->epoll >= 0)
		close(m->epoll);
	free(m->watched);
	free(m->netdevs);
	free(m);
}

int rd_monitor_fd(const struct rd_monitor *m)
{
	return m->epoll;
}

static void take(struct rd_monitor *m, int fd)
{
	if (fd == m->links)
		take_links(m);
	else if (fd == m->timer)
		look_for_removed(m);
	else if (fd == m->uevents)
		take_uevents(m);
	else if (m->nldev && fd == rd_netlink_fd(m->nldev))
		rd_netlink_take(m->nldev, take_nldev, m);
	else
		for (size_t i = 0; i < m->n_watched; i++)
			if (m->watched[i].context && m->watched[i].context->async_fd == fd)
				take_verbs(m, &m->watched[i]);
}

bool rd_monitor_next(struct rd_monitor *m, struct rd_event *event)
{
	struct epoll_event ready[16];

	if (!m->n) {
		int n = epoll_wait(m->epoll, ready, 16, 0);

		for (int i = 0; i < n; i++)
			take(m, ready[i].data.fd);
	}
	if (!m->n)
		return false;
	*event = m->queue[m->first];
	m->first = (m->first + 1) % QUEUE;
	m->n--;
	return true;
}
