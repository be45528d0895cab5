/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses of a host by its name. */
#ifndef RDMADUMP_SELFTEST_PEER_ADDRESS_H
#define RDMADUMP_SELFTEST_PEER_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define PEER_ADDRESSES 8

struct peer_addresses {
	struct sockaddr_storage address[PEER_ADDRESSES];
	unsigned int n;
};

/* Returns NULL, or what is wrong with the name: static. Asks the resolver, which may take time. */
const char *peer_addresses_find(struct peer_addresses *a, const char *host, uint16_t port);
/* Whether it is one of them; ports do not count, and IPv4 mapped into IPv6 is IPv4. */
bool peer_addresses_have(const struct peer_addresses *a, const struct sockaddr_storage *one);
socklen_t peer_address_size(const struct sockaddr_storage *a);

#endif
