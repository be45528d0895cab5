/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps the port's addresses up to date while it captures: netlink reports a netdev's new MAC
 * address, the device new GIDs and LIDs (ibv_get_async_event(3)).
 */
#include "verbs_port.h"
#include <rdmadump/event.h>
#include <rdmadump/fd.h>
#include <sys/epoll.h>

void verbs_addresses_open(struct verbs_port *port, const struct rd_port *from)
{
	struct verbs_addresses *a = &port->addresses;

	a->port = from;
	a->fd = -1;
	rd_port_addresses(&a->now, port->sysroot, port->device, from);
}

/* Without netlink, the device's own events remain. */
void verbs_addresses_watch(struct verbs_port *port)
{
	struct verbs_addresses *a = &port->addresses;
	struct epoll_event event = {.events = EPOLLIN};

	if (port->link != RD_LINK_ETHERNET || *port->sysroot)
		return;
	a->fd = rd_links_open();
	if (port->epoll_fd < 0) {
		port->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (port->epoll_fd < 0 ||
			epoll_ctl(port->epoll_fd, EPOLL_CTL_ADD, port->ctx->async_fd, &event) < 0)
			goto fail;
	}
	if (a->fd < 0 || epoll_ctl(port->epoll_fd, EPOLL_CTL_ADD, a->fd, &event) < 0)
		goto fail;
	port->queue[0]->src.event_fd = port->epoll_fd;
	return;
fail:
	rd_log(RD_LOG_DEBUG, "%s: changes of the MAC address are not followed", port->name);
	verbs_addresses_unwatch(port);
}

void verbs_addresses_unwatch(struct verbs_port *port)
{
	rd_fd_close(&port->addresses.fd);
}

void verbs_addresses_read(struct verbs_port *port)
{
	struct verbs_addresses *a = &port->addresses;
	struct rd_local now;

	if (!a->port)
		return;
	rd_port_addresses(&now, port->sysroot, port->device, a->port);
	if (rd_local_now(&a->now, &now))
		atomic_fetch_add_explicit(&a->generation, 1, memory_order_release);
}

static void link_changed(void *ctx, const struct rd_link_change *link)
{
	struct verbs_addresses *a = ctx;

	for (unsigned int i = 0; i < a->port->n_netdevs; i++)
		a->pending |= a->port->netdevs[i].ifindex == link->ifindex;
}

void verbs_addresses_service(struct verbs_port *port)
{
	struct verbs_addresses *a = &port->addresses;

	if (a->fd < 0)
		return;
	while (rd_links_read(a->fd, link_changed, a))
		;
	if (!a->pending)
		return;
	a->pending = false;
	pthread_mutex_lock(&port->lock);
	verbs_addresses_read(port);
	pthread_mutex_unlock(&port->lock);
}

void verbs_addresses_take(struct verbs_queue *q)
{
	struct verbs_addresses *a = &q->port->addresses;

	pthread_mutex_lock(&q->port->lock);
	q->addresses = atomic_load_explicit(&a->generation, memory_order_relaxed);
	rd_local_now(&q->src.local, &a->now);
	pthread_mutex_unlock(&q->port->lock);
}
