/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names and addresses of hosts, by getaddrinfo(3). */
#include "peer_address.h"
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

const char *peer_addresses_find(struct peer_addresses *a, const char *host, uint16_t port)
{
	const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *list;
	char service[8];
	int rc;

	memset(a, 0, sizeof(*a));
	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(host, service, &wanted, &list);
	if (rc)
		return gai_strerror(rc);
	for (const struct addrinfo *i = list; i && a->n < PEER_ADDRESSES; i = i->ai_next)
		if (i->ai_addrlen <= sizeof(a->address[0]))
			memcpy(&a->address[a->n++], i->ai_addr, i->ai_addrlen);
	freeaddrinfo(list);
	return a->n ? NULL : "it has no address";
}

socklen_t peer_address_size(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static struct in6_addr as_ipv6(const struct sockaddr_storage *a)
{
	struct in6_addr all = {.s6_addr = {[10] = 0xff, 0xff}};

	if (a->ss_family == AF_INET)
		memcpy(all.s6_addr + 12, &((const struct sockaddr_in *)(const void *)a)->sin_addr,
			4);
	else
		all = ((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
	return all;
}

bool peer_addresses_have(const struct peer_addresses *a, const struct sockaddr_storage *one)
{
	const struct in6_addr wanted = as_ipv6(one);

	for (unsigned int i = 0; i < a->n; i++) {
		const struct in6_addr has = as_ipv6(&a->address[i]);

		if (memcmp(&has, &wanted, sizeof(has)) == 0)
			return true;
	}
	return false;
}
