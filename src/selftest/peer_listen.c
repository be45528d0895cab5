/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits for the peer; other hosts may connect too. A connection must send a valid first message
 * within PEER_HELLO_MS. Several can do so at the same time, in memory of fixed size: slow, silent
 * or numerous connections do not keep the peer out.
 */
#include "peer_address.h"
#include "peer_link.h"
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdmadump/clock.h>
#include <rdmadump/log.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NS_PER_MS  1000000ULL
#define BACKLOG	   64
#define CANDIDATES 64 /* connections that have not sent their first message yet */
#define ACCEPTS	   32 /* accepted between two checks of the candidates: less than CANDIDATES */
#define REPORTED   16 /* refused connections that are reported one by one */
#define STEP_MS	   50
#define RETRY_MS   200 /* after accept(2) failed: no descriptor is free, for example */

struct candidate {
	int fd; /* -1: none */
	uint64_t end_ns;
	size_t n;
	uint8_t bytes[PEER_HEAD + PEER_BODY];
};

struct listening {
	struct peer_link *l;
	int fd;
	const struct peer_addresses *allowed;
	const struct peer_hello *here;
	struct candidate candidate[CANDIDATES];
	unsigned int refused;
};

static int listen_at(const struct sockaddr_storage *at)
{
	const int on = 1, off = 0;
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), errnum;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (at->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, (const void *)at, peer_address_size(at)) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	errnum = errno;
	close(fd);
	errno = errnum;
	return -1;
}

/* One socket for both address families, if the machine has both. */
static int listen_everywhere(uint16_t port)
{
	const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_storage any = {0};
	int fd;

	memcpy(&any, &six, sizeof(six));
	fd = listen_at(&any);
	if (fd >= 0 || (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT))
		return fd;
	memset(&any, 0, sizeof(any));
	memcpy(&any, &four, sizeof(four));
	return listen_at(&any);
}

/* The socket, or -1 with why. */
static int open_listener(struct peer_link *l, const struct rd_selftest_config *config)
{
	const char *at = config->listen_address, *wrong;
	struct peer_addresses own;
	int fd;

	wrong = at ? peer_address_own(&own, l->st) : NULL;
	if (wrong)
		return peer_link_fail(l, "--listen='%s': %s: give an IP address", at, wrong);
	fd = at ? listen_at(&own.address[0]) : listen_everywhere(config->control_port);
	if (fd >= 0)
		return fd;
	return peer_link_fail(l, "cannot listen on %s%sTCP port %u: %s: %s", at ? at : "",
		at ? ", " : "", config->control_port, strerror(errno),
		errno == EADDRNOTAVAIL ? "give an address of this machine"
				       : "--control-port names another one");
}

/* --- one connection ----------------------------------------------------------------------- */

/* Closes it, for the reason in l->why. */
static void refuse(struct listening *w, struct candidate *c)
{
	close(c->fd);
	c->fd = -1;
	if (w->refused++ < REPORTED && !probe_over(w->l->st))
		rd_log(RD_LOG_WARNING, "a connection was refused: %s", w->l->why);
	else if (w->refused == REPORTED + 1)
		rd_log(RD_LOG_WARNING, "more connections are refused, without a message for each");
}

/* An end of another version reads this end's version from the answer. */
static void answer_version(struct listening *w, const struct candidate *c)
{
	struct peer_message m = {.type = PEER_HELLO, .hello = *w->here};
	uint8_t bytes[PEER_HEAD + PEER_BODY];
	size_t n = peer_message_put(bytes, &m);

	/* A socket without space for it gets nothing. */
	if (send(c->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

/* 1: the first message is complete and valid. 0: incomplete. -1: refused, with why. */
static int take_message(struct listening *w, struct candidate *c, struct peer_message *m)
{
	enum peer_fault fault;
	enum peer_type type;
	uint32_t version;
	size_t body;

	if (c->n < PEER_HEAD)
		return 0;
	fault = peer_head_get(c->bytes, &type, &body, &version);
	if (!fault && type != PEER_HELLO)
		fault = PEER_MALFORMED;
	if (fault == PEER_OTHER_VERSION)
		answer_version(w, c);
	if (!fault && c->n < PEER_HEAD + body)
		return 0;
	if (!fault)
		fault = peer_body_get(m, type, c->bytes + PEER_HEAD);
	return fault ? peer_link_refuse(w->l, fault, version) : 1;
}

/* The bytes that are still missing of the head, then of the message. */
static size_t missing(const struct candidate *c)
{
	enum peer_type type;
	uint32_t version;
	size_t body;

	if (c->n < PEER_HEAD)
		return PEER_HEAD - c->n;
	if (peer_head_get(c->bytes, &type, &body, &version))
		return 0;
	return PEER_HEAD + body - c->n;
}

/* As take_message(). */
static int read_candidate(struct listening *w, struct candidate *c, struct peer_message *m)
{
	int rc = 0;

	while (rc == 0) {
		ssize_t n = recv(c->fd, c->bytes + c->n, missing(c), MSG_DONTWAIT);

		if (n == 0)
			return peer_link_fail(w->l, "it was closed without a message");
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0)
			return peer_link_fail(w->l, "it broke: %s", strerror(errno));
		c->n += (size_t)n;
		rc = take_message(w, c, m);
	}
	return rc;
}

/* --- all connections ---------------------------------------------------------------------- */

/* A free slot, or that of the connection that has waited longest. */
static struct candidate *place(struct listening *w)
{
	struct candidate *oldest = &w->candidate[0];

	for (unsigned int i = 0; i < CANDIDATES; i++) {
		if (w->candidate[i].fd < 0)
			return &w->candidate[i];
		if (w->candidate[i].end_ns < oldest->end_ns)
			oldest = &w->candidate[i];
	}
	peer_link_fail(w->l, "it sent no message, and others wait");
	refuse(w, oldest);
	return oldest;
}

static void accept_waiting(struct listening *w)
{
	for (unsigned int i = 0; i < ACCEPTS; i++) {
		struct candidate fresh = {.end_ns = rd_monotonic_ns() + PEER_HELLO_MS * NS_PER_MS};
		struct sockaddr_storage from = {0};
		socklen_t capacity = sizeof(from);

		fresh.fd = accept4(w->fd, (void *)&from, &capacity, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fresh.fd < 0) {
			if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
				probe_sleep_ms(w->l->st, RETRY_MS);
			return;
		}
		if (w->allowed->n && !peer_addresses_have(w->allowed, &from)) {
			peer_link_fail(w->l, "it is not from the host that --peer names");
			refuse(w, &fresh);
			continue;
		}
		*place(w) = fresh;
	}
}

static void wait_for_any(struct listening *w)
{
	struct pollfd fds[CANDIDATES + 1];

	for (unsigned int i = 0; i < CANDIDATES; i++)
		fds[i] = (struct pollfd){.fd = w->candidate[i].fd, .events = POLLIN};
	fds[CANDIDATES] = (struct pollfd){.fd = w->fd, .events = POLLIN};
	poll(fds, CANDIDATES + 1, STEP_MS);
}

/* The connection becomes the link. False: it broke. */
static bool becomes_peer(struct listening *w, struct candidate *c)
{
	w->l->fd = c->fd;
	w->l->lost = false;
	w->l->why[0] = '\0';
	if (peer_link_hello(w->l, w->here) == 0) {
		c->fd = -1;
		return true;
	}
	w->l->fd = -1;
	return false;
}

/* Returns whether one of them is the peer. */
static bool look_at_all(struct listening *w, struct peer_hello *there)
{
	for (unsigned int i = 0; i < CANDIDATES; i++) {
		struct candidate *c = &w->candidate[i];
		struct peer_message m;
		int rc = c->fd < 0 ? 0 : read_candidate(w, c, &m);

		if (rc == 1 && becomes_peer(w, c)) {
			*there = m.hello;
			return true;
		}
		if (rc == 0 && c->fd >= 0 && rd_monotonic_ns() >= c->end_ns)
			rc = peer_link_fail(
				w->l, "it sent no message for %u s", PEER_HELLO_MS / 1000);
		if (rc)
			refuse(w, c);
	}
	return false;
}

static int find_peer(struct listening *w, struct peer_hello *there)
{
	uint64_t end = rd_monotonic_ns() + PEER_LISTEN_S * 1000 * NS_PER_MS;
	bool found = false;
	char last[256];

	while (!found && !probe_over(w->l->st) && rd_monotonic_ns() < end) {
		wait_for_any(w);
		accept_waiting(w);
		found = look_at_all(w, there);
	}
	for (unsigned int i = 0; i < CANDIDATES; i++)
		if (w->candidate[i].fd >= 0)
			close(w->candidate[i].fd);
	if (found)
		return 0;
	snprintf(last, sizeof(last), "%.200s", w->l->why);
	w->l->why[0] = '\0';
	return peer_link_fail(w->l, "no peer connected within %u s%s%s", PEER_LISTEN_S,
		*last ? "; the last connection was refused: " : "", last);
}

int peer_link_accept(struct peer_link *l, const struct rd_selftest *st,
	const struct peer_hello *here, struct peer_hello *there)
{
	struct peer_addresses allowed = {0};
	struct listening w = {.l = l, .allowed = &allowed, .here = here};
	uint16_t port = st->config->control_port;
	const char *wrong;
	int rc;

	peer_link_begin(l, st);
	wrong = st->config->peer ? peer_addresses_find(&allowed, st) : NULL;
	if (wrong)
		return peer_link_fail(l, "--peer '%s': %s", st->config->peer, wrong);
	w.fd = open_listener(l, st->config);
	if (w.fd < 0)
		return -1;
	for (unsigned int i = 0; i < CANDIDATES; i++)
		w.candidate[i].fd = -1;
	rd_log(RD_LOG_INFO, "waiting for the peer on TCP port %u, for %u s at most", port,
		PEER_LISTEN_S);
	rc = find_peer(&w, there);
	close(w.fd);
	return rc;
}
