/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbered frames sent by the kernel's network stack, from a packet socket on the port's netdev. */
#ifndef RDMADUMP_SELFTEST_PACKET_SOCKET_H
#define RDMADUMP_SELFTEST_PACKET_SOCKET_H

#include "numbered.h"
#include <linux/if_packet.h>

/*
 * A packet socket on the port's netdev that receives frames of a protocol (ETH_P_ALL: all, also
 * sent ones; 0: none). *own: the netdev's index and address. 0, or an errno with *fd -1: ENODEV if
 * the netdev is not in this network namespace.
 */
int packet_socket_open(
	int *fd, const struct rd_port *port, uint16_t protocol, struct sockaddr_ll *own);
/* Frames of `len` bytes, to the netdev's own address. 0 or an errno: ENODEV without a netdev. */
int packet_socket_send(const struct rd_port *port, const struct numbered *m, uint32_t len);

#endif
