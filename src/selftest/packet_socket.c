/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbered frames by AF_PACKET (packet(7)). */
#include "packet_socket.h"
#include "may_send.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <rdmadump/bytes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAC_BYTES	6
#define FRAME_BYTES_MAX 1024

/* Looks the interface up in this socket's namespace: the netdev may be in another one. */
static int find_interface(int fd, const struct rd_netdev *netdev, struct sockaddr_ll *to)
{
	struct ifreq req = {0};

	memcpy(req.ifr_name, netdev->name, IF_NAMESIZE - 1);
	if (ioctl(fd, SIOCGIFINDEX, &req) < 0)
		return errno;
	*to = (struct sockaddr_ll){.sll_family = AF_PACKET,
		.sll_protocol = htons(NUMBERED_TYPE),
		.sll_ifindex = req.ifr_ifindex,
		.sll_halen = MAC_BYTES};
	if (ioctl(fd, SIOCGIFHWADDR, &req) < 0)
		return errno;
	memcpy(to->sll_addr, netdev->mac, MAC_BYTES);
	return memcmp(req.ifr_hwaddr.sa_data, netdev->mac, MAC_BYTES) == 0 ? 0 : ENODEV;
}

static int send_all(int fd, const struct sockaddr_ll *to, const struct numbered *m, uint32_t len)
{
	uint8_t frame[FRAME_BYTES_MAX];

	memcpy(frame, to->sll_addr, MAC_BYTES);
	memcpy(frame + MAC_BYTES, to->sll_addr, MAC_BYTES);
	rd_put_be16(frame + 2 * MAC_BYTES, NUMBERED_TYPE);
	for (uint32_t i = 0; i < m->count; i++) {
		numbered_block(frame + NUMBERED_HEAD, len - NUMBERED_HEAD, m->run, i);
		if (sendto(fd, frame, len, MSG_DONTWAIT, (const void *)to, sizeof(*to)) < 0)
			return errno;
	}
	return 0;
}

/* ENODEV if the netdev is not in this network namespace. */
static int open_socket(int *fd, const struct rd_port *port, struct sockaddr_ll *own)
{
	int rc;

	if (port->link != RD_LINK_ETHERNET)
		return EOPNOTSUPP;
	if (!port->n_netdevs)
		return ENODEV;
	/* Protocol 0: it receives nothing. */
	*fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return errno;
	rc = find_interface(*fd, &port->netdevs[0], own);
	if (rc)
		close(*fd);
	return rc;
}

int packet_socket_send(const struct rd_port *port, const struct numbered *m, uint32_t len)
{
	char why[MAY_SEND_TEXT];
	struct sockaddr_ll to;
	int fd, rc;

	if (len > FRAME_BYTES_MAX)
		return EMSGSIZE;
	if (!port_may_send(port, why))
		return MAY_SEND_NOT;
	rc = open_socket(&fd, port, &to);
	if (rc)
		return rc;
	rc = send_all(fd, &to, m, len);
	close(fd);
	return rc;
}
