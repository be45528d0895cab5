/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names and addresses of hosts, by getaddrinfo(3). A resolver may take minutes, and cannot be
 * interrupted: names are looked up by a thread, which is abandoned on timeout.
 */
#include "peer_address.h"
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdmadump/clock.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_ROOM 256 /* DNS allows 253 bytes */
#define STEP_MS	  5

struct lookup {
	char host[HOST_ROOM];
	uint16_t port;
	struct peer_addresses found;
	const char *wrong;
	atomic_bool done;
	atomic_uint users; /* the last one frees it */
};

static const char *find(struct peer_addresses *a, const char *host, uint16_t port, int flags)
{
	const struct addrinfo wanted = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
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

static void release(struct lookup *l)
{
	if (atomic_fetch_sub(&l->users, 1) == 1)
		free(l);
}

static void *look_up(void *ctx)
{
	struct lookup *l = ctx;

	l->wrong = find(&l->found, l->host, l->port, 0);
	atomic_store(&l->done, true);
	release(l);
	return NULL;
}

static bool start(struct lookup *l)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, look_up, l))
		return false;
	pthread_detach(thread);
	return true;
}

static const char *wait_for(
	struct lookup *l, struct peer_addresses *a, const struct rd_selftest *st)
{
	uint64_t end = rd_monotonic_ns() + PEER_RESOLVE_MS * 1000000ULL;

	while (!atomic_load(&l->done) && !probe_over(st) && rd_monotonic_ns() < end)
		probe_sleep_ms(st, STEP_MS);
	if (!atomic_load(&l->done))
		return "the resolver did not respond in time: name an IP address";
	*a = l->found;
	return l->wrong;
}

const char *peer_addresses_find(struct peer_addresses *a, const struct rd_selftest *st)
{
	const char *host = st->config->peer, *wrong;
	struct lookup *l;

	if (!find(a, host, st->config->control_port, AI_NUMERICHOST))
		return NULL;
	if (strlen(host) >= HOST_ROOM)
		return "the name is too long";
	l = calloc(1, sizeof(*l));
	if (!l)
		return "out of memory";
	snprintf(l->host, sizeof(l->host), "%s", host);
	l->port = st->config->control_port;
	atomic_init(&l->users, 2);
	if (!start(l)) {
		free(l);
		return "cannot start a thread that looks it up: name an IP address";
	}
	wrong = wait_for(l, a, st);
	release(l);
	return wrong;
}

const char *peer_address_own(struct peer_addresses *a, const struct rd_selftest *st)
{
	return find(a, st->config->listen_address, st->config->control_port, AI_NUMERICHOST);
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

static uint32_t scope_of(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6
		       ? ((const struct sockaddr_in6 *)(const void *)a)->sin6_scope_id
		       : 0;
}

bool peer_addresses_have(const struct peer_addresses *a, const struct sockaddr_storage *one)
{
	const struct in6_addr wanted = as_ipv6(one);

	for (unsigned int i = 0; i < a->n; i++) {
		const struct in6_addr has = as_ipv6(&a->address[i]);
		uint32_t scope = scope_of(&a->address[i]);

		if (memcmp(&has, &wanted, sizeof(has)) == 0 && (!scope || scope == scope_of(one)))
			return true;
	}
	return false;
}
