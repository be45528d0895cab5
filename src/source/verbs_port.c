/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens the parts of the sniffer that exist once per port: context, clock, PD, and queue sizes. */
#include "verbs_port.h"
#include <errno.h>
#include <rdmadump/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The longest frame that the port's MTUs allow. The netdev's MTU limits what the port accepts, the
 * RDMA path MTU limits RDMA traffic; headers are counted with their maximum length.
 */
static uint32_t longest_frame(const struct rd_port *port, const struct ibv_port_attr *attr)
{
	const uint32_t vlans = 8, ethernet = 14, fcs = 4;
	const uint32_t lrh = 8, grh = 40, udp = 8, bth = 12, xeth = 36, icrc = 4, vcrc = 2;
	uint32_t rdma = 128U << attr->active_mtu, most;

	if (attr->link_layer == IBV_LINK_LAYER_INFINIBAND)
		return lrh + grh + bth + xeth + rdma + icrc + vcrc;
	most = grh + udp + bth + xeth + rdma + icrc;
	for (unsigned int i = 0; i < port->n_netdevs; i++)
		most = RD_MAX(most, port->netdevs[i].mtu);
	return ethernet + vlans + most + fcs;
}

/* RoCE v2 of this port then uses IPv6; otherwise, or if unknown, IPv4. */
static bool only_ipv6(const struct rd_port *port)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t link_local[2] = {0xfe, 0x80};
	bool ipv6 = false;

	for (unsigned int i = 0; i < port->n_gids; i++) {
		if (memcmp(port->gids[i].raw, mapped, sizeof(mapped)) == 0)
			return false;
		ipv6 |= memcmp(port->gids[i].raw, link_local, sizeof(link_local)) != 0;
	}
	return ipv6;
}

static int ring_size(
	struct verbs_port *port, const struct rd_verbs_config *config, struct rd_error *err)
{
	struct ibv_device_attr_ex attr;
	const struct ibv_device_attr *old = &attr.orig_attr;
	unsigned int most;
	int rc = ibv_query_device_ex(port->ctx, NULL, &attr);

	if (rc)
		return verbs_fail(port, err, rc, "see the kernel's log (dmesg)", "query_device");
	port->moderation = attr.cq_mod_caps;
	most = (unsigned int)(old->max_qp_wr < old->max_cqe ? old->max_qp_wr : old->max_cqe);
	port->n_buffers = 1U << config->log2_buffers;
	while (port->n_buffers > most)
		port->n_buffers /= 2;
	if (port->n_buffers < 1U << config->log2_buffers)
		rd_log(RD_LOG_WARNING,
			"%s takes at most %u receives per queue: using so many buffers instead of "
			"%u",
			port->name, port->n_buffers, 1U << config->log2_buffers);
	return 0;
}

/* The device's attributes are more reliable than sysfs. */
static void set_local(struct verbs_port *port, const struct ibv_port_attr *attr)
{
	struct rd_local *local = &port->addresses.now;

	local->link = port->link;
	local->lid = attr->lid;
	local->lid_mask = (uint16_t) ~((1U << attr->lmc) - 1);
}

static int open_all(
	struct verbs_port *port, const struct rd_verbs_config *config, struct rd_error *err)
{
	struct ibv_port_attr attr;
	uint32_t frame;
	int rc;

	/* Before verbs, which may not have a device that is refused here. */
	if (config->sniffer == RD_SNIFFER_ICMD && rd_port_sniffer_check(config->device, err) < 0)
		return -1;
	/* The process that the sniffer starts must not share registered memory. */
	if (config->sniffer == RD_SNIFFER_ICMD && ibv_fork_init())
		rd_log(RD_LOG_DEBUG, "ibv_fork_init: %s", strerror(errno));
	if (rd_verbs_device_open(&port->ctx, port->device->name, NULL, NULL, err) < 0 ||
		verbs_port_sniffer_open(port, config, err) < 0 ||
		verbs_clock_open(&port->clock, port->ctx, port->name, config->stamps,
			config->port->speed, err) < 0)
		return -1;
	rc = ibv_query_port(port->ctx, (uint8_t)port->num, &attr);
	if (rc)
		return verbs_fail(port, err, rc, "see 'rdmadump info' and the kernel's log (dmesg)",
			"query_port");
	port->link = attr.link_layer == IBV_LINK_LAYER_INFINIBAND ? RD_LINK_INFINIBAND
								  : RD_LINK_ETHERNET;
	verbs_addresses_open(port, config->port);
	set_local(port, &attr);
	frame = config->max_frame ? config->max_frame : longest_frame(config->port, &attr);
	/* Buffers start on cache lines, and have room for checksums that are appended. */
	port->frame_room = (frame + RD_TRAILER_MAX + 63) & ~63U;
	port->ipv6 = only_ipv6(config->port);
	if (ring_size(port, config, err) < 0)
		return -1;
	port->pd = ibv_alloc_pd(port->ctx);
	if (!port->pd)
		return verbs_fail(port, err, errno, "see the kernel's log (dmesg)", "alloc_pd");
	return verbs_nonblocking(port, port->ctx->async_fd, err);
}

struct verbs_port *verbs_port_open(const struct rd_verbs_config *config, struct rd_error *err)
{
	struct verbs_port *port = calloc(1, sizeof(*port));

	if (!port) {
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the source");
		return NULL;
	}
	port->device = config->device;
	port->sysroot = config->sysroot;
	port->num = config->port->num;
	port->speed = config->port->speed;
	port->rx_mode = config->rx_mode;
	port->numa_node = rd_device_numa_node(config->sysroot, config->device);
	port->latency_us = config->latency_ms * 1000;
	port->epoll_fd = port->addresses.fd = -1;
	port->lock = port->loss_lock = port->trailer.lock =
		(pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	snprintf(port->name, sizeof(port->name), "%s:%u", config->device->name, port->num);
	if (open_all(port, config, err) == 0)
		return port;
	verbs_port_close(port);
	return NULL;
}

void verbs_port_close(struct verbs_port *port)
{
	verbs_queues_close(port);
	if (port->pd && !port->abandoned)
		ibv_dealloc_pd(port->pd);
	/* Before the context: a sniffer that could not be detached still uses the queue pair. */
	verbs_port_sniffer_close(port);
	if (port->ctx)
		ibv_close_device(port->ctx);
	verbs_trailer_end(port);
	free(port);
}
