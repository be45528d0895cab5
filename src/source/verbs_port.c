/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Opens a device for sniffing: context, PD, completion channel, receive ring, queue. */
#include "verbs_queue.h"
#include <errno.h>
#include <rdmadump/log.h>
#include <rdmadump/units.h>
#include <rdmadump/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nothing on the epoll path may block. */
int verbs_nonblocking(const struct verbs *v, int fd, struct rd_error *err)
{
	int rc = rd_fd_nonblocking(fd);

	return rc ? verbs_fail(v, err, rc, NULL, "fcntl") : 0;
}

/*
 * The longest frame that the port's real MTU allows. The netdev's MTU bounds what the port takes,
 * the RDMA path MTU what a neighbour's RDMA traffic brings; headers are counted at their longest.
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
		if (port->netdevs[i].mtu > most)
			most = port->netdevs[i].mtu;
	return ethernet + vlans + most + fcs;
}

/* RoCEv2 from and to this port is then IPv6 too; otherwise, and where nothing is known, IPv4. */
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

static int ring_size(struct verbs *v, const struct rd_verbs_config *config, struct rd_error *err)
{
	struct ibv_device_attr attr;
	unsigned int most;
	int rc = ibv_query_device(v->ctx, &attr);

	if (rc)
		return verbs_fail(v, err, rc, "see the kernel's log (dmesg)", "query_device");
	v->cqe_most = attr.max_cqe;
	most = (unsigned int)(attr.max_qp_wr < attr.max_cqe ? attr.max_qp_wr : attr.max_cqe);
	v->n_wanted = v->n_buffers = 1U << config->log2_buffers;
	while (v->n_buffers > most)
		v->n_buffers /= 2;
	return 0;
}

static void set_local(struct verbs *v, const struct rd_port *port, const struct ibv_port_attr *attr)
{
	struct rd_local *local = &v->src.local;

	local->link = v->link;
	local->lid = attr->lid;
	local->lid_mask = (uint16_t) ~((1U << attr->lmc) - 1);
	for (unsigned int i = 0; i < port->n_netdevs && local->n_mac < 8; i++)
		memcpy(local->mac[local->n_mac++], port->netdevs[i].mac, 6);
}

static void describe(struct verbs *v, const struct rd_device *d, const struct rd_port *port)
{
	const char *kind = v->link == RD_LINK_INFINIBAND ? "InfiniBand" : "RoCE";
	const char *netdev = port->n_netdevs ? port->netdevs[0].name : "";
	const char *comma = *netdev ? ", " : "";
	const char *rate = port->rate[0] ? port->rate : "unknown rate";
	char size[RD_UNITS_LEN];
	struct rd_iface *iface = &v->src.iface;

	snprintf(v->src.title, sizeof(v->src.title), "%s port %u (%s%s%s, %s)", d->name, port->num,
		netdev, comma, kind, rate);
	snprintf(v->src.details, sizeof(v->src.details), "%s, %u %sbuffers of %s%s",
		v->clock->kind->title, v->ring.n, v->striding ? "striding " : "",
		rd_fmt_kib(size, v->ring.buffer_size), v->ring.huge ? " in huge pages" : "");
	snprintf(v->description, sizeof(v->description), "%s%s%s, %s; %s", netdev, comma, kind,
		rate, v->clock->kind->description);
	snprintf(v->hardware, sizeof(v->hardware), "%s %s%s%s, firmware %s, driver %s%s%s", d->name,
		d->hca_type, d->board_id[0] ? " PSID " : "", d->board_id,
		d->fw[0] ? d->fw : "unknown", d->driver[0] ? d->driver : "unknown",
		d->pci[0] ? ", PCI " : "", d->pci);
	iface->link = v->link;
	iface->name = v->name;
	iface->description = v->description;
	iface->hardware = v->hardware;
	iface->speed = port->speed;
	iface->max_frame = FRAME_MAX;
	if (port->n_netdevs) {
		memcpy(iface->mac, port->netdevs[0].mac, 6);
		iface->has_mac = true;
	}
}

/* What hangs on the port: context, protection domain, sizes. */
static int port_open(struct verbs *v, const struct rd_verbs_config *config, struct rd_error *err)
{
	struct ibv_port_attr attr;
	uint32_t frame;
	int rc;

	if (rd_verbs_device_open(&v->ctx, v->device->name, NULL, NULL, err) < 0 ||
		verbs_clock_open(&v->own_clock, v->ctx, v->name, config->stamps,
			config->port->speed, err) < 0)
		return -1;
	rc = ibv_query_port(v->ctx, (uint8_t)v->port_num, &attr);
	if (rc)
		return verbs_fail(v, err, rc, "see 'rdmadump list'", "query_port");
	v->link = attr.link_layer == IBV_LINK_LAYER_INFINIBAND ? RD_LINK_INFINIBAND
							       : RD_LINK_ETHERNET;
	frame = config->max_frame ? config->max_frame : longest_frame(config->port, &attr);
	/* Buffers start on cache lines; a cache line more keeps room for an appended VCRC. */
	v->frame_room = (frame + 2 + 63) & ~63U;
	v->ipv6 = only_ipv6(config->port);
	set_local(v, config->port, &attr);
	if (ring_size(v, config, err) < 0)
		return -1;
	v->pd = ibv_alloc_pd(v->ctx);
	if (!v->pd)
		return verbs_fail(v, err, errno, "see the kernel's log (dmesg)", "alloc_pd");
	return verbs_nonblocking(v, v->ctx->async_fd, err);
}

int rd_verbs_open_queues(struct rd_source **s, unsigned int *n,
	const struct rd_verbs_config *config, struct rd_error *err)
{
	struct verbs *v = calloc(1, sizeof(*v));
	unsigned int wanted = *n;

	if (!v)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the source");
	v->src.ops = &verbs_ops;
	v->device = config->device;
	v->sysroot = config->sysroot;
	v->port_num = config->port->num;
	v->rx_mode = config->rx_mode;
	v->stamp_type = config->stamps;
	v->plain = config->rx_mode == RD_RX_VERBS;
	v->wake_fd = v->epoll_fd = -1;
	v->lead = v;
	v->clock = &v->own_clock;
	pthread_mutex_init(&v->lock, NULL);
	snprintf(v->name, sizeof(v->name), "%s:%u", config->device->name, v->port_num);
	if (port_open(v, config, err) < 0 || verbs_queues_open(v, wanted, err) < 0) {
		verbs_ops.close(&v->src);
		return -1;
	}
	describe(v, config->device, config->port);
	verbs_queues_tell(v, wanted);
	for (unsigned int i = 0; i < v->n_queues; i++)
		s[i] = &v->queue[i]->src;
	*n = v->n_queues;
	return 0;
}
