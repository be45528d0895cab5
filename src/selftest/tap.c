/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receives from the port's netdev by AF_PACKET (packet(7)). */
#include "tap.h"
#include "packet_socket.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <rdmadump/bytes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_MAX    65536
#define SOCKET_BYTES (4 << 20)
#define TURN	     256 /* frames received before the caller checks the time */
#define MACS	     12
#define TAG	     4

int tap_open(struct tap *t, const struct rd_port *port)
{
	const int bytes = SOCKET_BYTES, on = 1;
	struct packet_mreq all = {.mr_type = PACKET_MR_PROMISC};
	struct sockaddr_ll own;
	int rc;

	*t = (struct tap){.fd = -1};
	rc = packet_socket_open(&t->fd, port, ETH_P_ALL, &own);
	if (rc)
		return rc;
	t->memory = malloc(FRAME_MAX + TAG);
	if (!t->memory)
		return ENOMEM;
	/* A smaller buffer is not an error: frames that do not fit are counted. */
	if (setsockopt(t->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		setsockopt(t->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (setsockopt(t->fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) < 0)
		return errno;
	/* As captures do; without it netdevs also filter VLANs. It ends with the socket. */
	all.mr_ifindex = own.sll_ifindex;
	setsockopt(t->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all));
	return 0;
}

/* The kernel strips the outer tag; this restores it. */
static uint32_t put_tag(uint8_t *frame, uint32_t len, const struct tpacket_auxdata *aux)
{
	uint16_t tpid = aux->tp_status & TP_STATUS_VLAN_TPID_VALID ? aux->tp_vlan_tpid : 0x8100;

	if (!(aux->tp_status & TP_STATUS_VLAN_VALID) || len < MACS)
		return len;
	memmove(frame + MACS + TAG, frame + MACS, len - MACS);
	rd_put_be16(frame + MACS, tpid);
	rd_put_be16(frame + MACS + 2, aux->tp_vlan_tci);
	return len + TAG;
}

static ssize_t receive(struct tap *t)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} control;
	struct iovec iov = {t->memory, FRAME_MAX};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct tpacket_auxdata aux;
	ssize_t n = recvmsg(t->fd, &msg, MSG_DONTWAIT);

	for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL; c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(c), sizeof(aux));
		n = put_tag(t->memory, (uint32_t)n, &aux);
	}
	return n;
}

unsigned int tap_drain(struct tap *t, sniffer_frame_fn *frame, void *ctx)
{
	struct tpacket_stats stats = {0};
	socklen_t capacity = sizeof(stats);
	unsigned int n = 0;
	ssize_t len;

	for (; n < TURN && (len = receive(t)) > 0; n++)
		frame(ctx, t->memory, (uint32_t)len);
	t->frames += n;
	if (getsockopt(t->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &capacity) == 0)
		t->lost |= stats.tp_drops > 0;
	return n;
}

void tap_close(struct tap *t)
{
	if (t->fd >= 0)
		close(t->fd);
	free(t->memory);
	*t = (struct tap){.fd = -1};
}
