/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbered frames sent by the kernel's network stack, from a packet socket on the port's netdev. */
#ifndef RDMADUMP_SELFTEST_PACKET_SOCKET_H
#define RDMADUMP_SELFTEST_PACKET_SOCKET_H

#include "numbered.h"

/* Frames of `len` bytes, to the netdev's own address. 0 or an errno: ENODEV without a netdev. */
int packet_socket_send(const struct rd_port *port, const struct numbered *m, uint32_t len);

#endif
