/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Resolves a host name. */
#ifndef RDMADUMP_SELFTEST_PEER_ADDRESS_H
#define RDMADUMP_SELFTEST_PEER_ADDRESS_H

#include "selftest.h"
#include <sys/socket.h>

#define PEER_ADDRESSES 8

struct peer_addresses {
	struct sockaddr_storage address[PEER_ADDRESSES];
	unsigned int n;
};

/*
 * The addresses of config->peer, with config->control_port. Returns NULL, or a static string that
 * says what is wrong with the name. Waits for the resolver for PEER_RESOLVE_MS, or until the probe
 * is over.
 */
const char *peer_addresses_find(struct peer_addresses *a, const struct rd_selftest *st);
/*
 * The address of config->listen_address, which is no name, with config->control_port. As above.
 */
const char *peer_address_own(struct peer_addresses *a, const struct rd_selftest *st);
/*
 * Whether it is one of them. Ports are ignored, and IPv4-mapped IPv6 addresses count as IPv4; a
 * link-local address ("fe80::1%eth0") is a different one on another interface.
 */
bool peer_addresses_have(const struct peer_addresses *a, const struct sockaddr_storage *one);
socklen_t peer_address_size(const struct sockaddr_storage *a);

#endif
