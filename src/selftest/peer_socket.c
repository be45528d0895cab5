/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel sends from end to end: UDP from port to port of one link, and whole frames. The
 * destinations are the other end's MAC address, and its IP address with a fixed port, not routed.
 */
#include "packet_socket.h"
#include "peer_round.h"
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdmadump/bytes.h>
#include <string.h>
#include <unistd.h>

#define FRAME_BYTES   256
#define PAYLOAD_BYTES 200
#define TAG	      4
#define MAC_BYTES     6
#define RECEIVES      256 /* datagrams received in one call */

/* --- arrival ------------------------------------------------------------------------------ */

static void take_all(struct peer_round *p, int fd)
{
	uint8_t bytes[2048];
	ssize_t n;

	for (int i = 0;
		fd >= 0 && i < RECEIVES && (n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0;
		i++)
		numbered_look(&p->arrived, bytes, (uint32_t)n);
}

/* A socket that cannot be opened does not affect the capture: it is not an error. */
int peer_arrival_open(struct peer_round *p)
{
	struct sockaddr_ll own;

	p->arrival_known =
		packet_socket_open(&p->arrival_fd, p->st->port, NUMBERED_TYPE, &own) == 0;
	return p->st->port->link == RD_LINK_ETHERNET ? 0 : EOPNOTSUPP;
}

void peer_arrival_receive(struct peer_round *p)
{
	take_all(p, p->arrival_fd);
}

/* --- whole frames ------------------------------------------------------------------------- */

int peer_packet_open(struct peer_round *p)
{
	int rc;

	if (!p->sends)
		return peer_arrival_open(p);
	rc = packet_socket_open(&p->fd, p->st->port, 0, &p->link);
	return rc ? rc : p->there->has_mac ? 0 : EADDRNOTAVAIL;
}

int peer_tagged_open(struct peer_round *p)
{
	p->tci = PEER_TCI;
	return peer_packet_open(p);
}

int peer_packet_send(struct peer_round *p, uint32_t number)
{
	uint8_t frame[FRAME_BYTES + TAG];
	uint32_t head = 2 * MAC_BYTES;

	memcpy(frame, p->there->mac, MAC_BYTES);
	memcpy(frame + MAC_BYTES, p->here->mac, MAC_BYTES);
	if (p->tci) {
		rd_put_be16(frame + head, PEER_TPID);
		rd_put_be16(frame + head + 2, p->tci);
		head += TAG;
	}
	rd_put_be16(frame + head, NUMBERED_TYPE);
	head += 2;
	numbered_block(frame + head, FRAME_BYTES - NUMBERED_HEAD, p->seen.run, number);
	if (sendto(p->fd, frame, head + FRAME_BYTES - NUMBERED_HEAD, MSG_DONTWAIT,
		    (const void *)&p->link, sizeof(p->link)) < 0)
		return errno;
	return 0;
}

/* --- UDP ---------------------------------------------------------------------------------- */

/* The GID of RoCE is an IP address of the port's netdev. */
static socklen_t address_of(
	struct sockaddr_storage *a, const uint8_t gid[16], bool v4, uint16_t port, uint32_t ifindex)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	memset(a, 0, sizeof(*a));
	if (v4) {
		memcpy(&in.sin_addr, gid + 12, 4);
		memcpy(a, &in, sizeof(in));
		return sizeof(in);
	}
	memcpy(&in6.sin6_addr, gid, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr))
		in6.sin6_scope_id = ifindex;
	memcpy(a, &in6, sizeof(in6));
	return sizeof(in6);
}

/* Only this link: no router, and no other netdev of this machine. */
static int limit_to_link(int fd, const char *netdev, bool v4)
{
	const int on = 1, hops = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, netdev, (socklen_t)strlen(netdev)) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_DONTROUTE, &on, sizeof(on)) < 0)
		return errno;
	if (v4 ? setsockopt(fd, IPPROTO_IP, IP_TTL, &hops, sizeof(hops)) < 0
	       : setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, sizeof(hops)) < 0)
		return errno;
	return 0;
}

/* The netdev of a model or of another network namespace may have the same name as one of this
 * namespace. */
static int check_netdev(const struct rd_port *port)
{
	struct sockaddr_ll own;
	int fd, rc = packet_socket_open(&fd, port, 0, &own);

	if (fd >= 0)
		close(fd);
	return rc;
}

static int open_socket(struct peer_round *p, const struct rd_gid *gid, bool v4)
{
	const struct rd_netdev *netdev = &p->st->port->netdevs[0];
	struct sockaddr_storage own;
	socklen_t n = address_of(&own, gid->raw, v4, p->sends ? 0 : PEER_PORT, netdev->ifindex);
	int rc;

	p->fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p->fd < 0)
		return errno;
	rc = limit_to_link(p->fd, netdev->name, v4);
	if (rc)
		return rc;
	if (bind(p->fd, (const void *)&own, n) < 0)
		return errno;
	address_of(&p->to, p->there->gid, v4, PEER_PORT, netdev->ifindex);
	p->arrival_known = !p->sends;
	return 0;
}

int peer_udp_open(struct peer_round *p)
{
	const struct rd_gid *gid = queue_pair_gid(p->st->port);
	struct rd_gid other = {0};
	int rc = check_netdev(p->st->port);

	if (rc)
		return rc;
	if (!gid || !p->there->has_gid)
		return EADDRNOTAVAIL;
	memcpy(other.raw, p->there->gid, sizeof(other.raw));
	if (queue_pair_gid_is_ipv4(gid) != queue_pair_gid_is_ipv4(&other))
		return EAFNOSUPPORT;
	return open_socket(p, gid, queue_pair_gid_is_ipv4(gid));
}

int peer_udp_send(struct peer_round *p, uint32_t number)
{
	uint8_t block[PAYLOAD_BYTES];
	socklen_t n = p->to.ss_family == AF_INET ? sizeof(struct sockaddr_in)
						 : sizeof(struct sockaddr_in6);

	numbered_block(block, sizeof(block), p->seen.run, number);
	if (sendto(p->fd, block, sizeof(block), MSG_DONTWAIT, (const void *)&p->to, n) < 0)
		return errno;
	return 0;
}

void peer_udp_receive(struct peer_round *p)
{
	take_all(p, p->fd);
}

/* --- the group ---------------------------------------------------------------------------- */

int peer_group_join(struct peer_round *p)
{
	const struct rd_gid *gid = p->pair.gid;
	bool v4 = queue_pair_gid_is_ipv4(gid);
	struct ip_mreqn four = {.imr_ifindex = 0};
	struct ipv6_mreq six = {0};
	uint8_t group[16];
	int rc = check_netdev(p->st->port);

	if (rc)
		return rc;
	four.imr_ifindex = (int)p->st->port->netdevs[0].ifindex;
	six.ipv6mr_interface = p->st->port->netdevs[0].ifindex;
	queue_pair_group(gid, group);
	memcpy(&four.imr_multiaddr, group + 12, 4);
	memcpy(&six.ipv6mr_multiaddr, group, 16);
	p->fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p->fd < 0)
		return errno;
	if (v4)
		rc = setsockopt(p->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &four, sizeof(four));
	else
		rc = setsockopt(p->fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &six, sizeof(six));
	return rc < 0 ? errno : 0;
}
