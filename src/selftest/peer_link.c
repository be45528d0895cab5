/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connects, listens, and passes messages with a limit of time for each. */
#include "peer_link.h"
#include "peer_address.h"
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdmadump/clock.h>
#include <rdmadump/log.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NS_PER_MS   1000000ULL
#define TRY_MS	    200 /* between two attempts */
#define BACKLOG	    4
#define STRANGERS   32 /* connections of no peer, after which listening ends */
#define STEP_MS	    50
#define STEP_OF_ONE 1 /* ms, where somebody waits for frames, too */

static int fail(struct peer_link *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* An interruption is no fault of the peer. */
static int fail(struct peer_link *l, const char *fmt, ...)
{
	va_list ap;

	l->lost = true;
	if (l->st->config->stop && *l->st->config->stop)
		return -1;
	va_start(ap, fmt);
	vsnprintf(l->why, sizeof(l->why), fmt, ap);
	va_end(ap);
	return -1;
}

static uint64_t in_ms(unsigned int ms)
{
	return rd_monotonic_ns() + ms * NS_PER_MS;
}

/* True: the descriptor is ready. False: the time is over, or the probe. */
static bool wait_for(const struct peer_link *l, int fd, short events, uint64_t end)
{
	struct pollfd p = {.fd = fd, .events = events};

	while (!probe_over(l->st) && rd_monotonic_ns() < end) {
		if (poll(&p, 1, l->idle ? STEP_OF_ONE : STEP_MS) > 0)
			return true;
		if (l->idle)
			l->idle(l->ctx);
	}
	return false;
}

/* --- messages ----------------------------------------------------------------------------- */

static int send_bytes(struct peer_link *l, const uint8_t *p, size_t n)
{
	uint64_t end = in_ms(PEER_MESSAGE_MS);

	while (n) {
		ssize_t k = send(l->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (k > 0) {
			p += k;
			n -= (size_t)k;
		} else if (k < 0 && errno != EAGAIN && errno != EINTR) {
			return fail(l, "the connection to the peer broke: %s", strerror(errno));
		} else if (!wait_for(l, l->fd, POLLOUT, end)) {
			return fail(l, "the peer took nothing for %u s", PEER_MESSAGE_MS / 1000);
		}
	}
	return 0;
}

int peer_link_send(struct peer_link *l, const struct peer_message *m)
{
	uint8_t bytes[PEER_HEAD + PEER_BODY];

	if (l->lost)
		return -1;
	return send_bytes(l, bytes, peer_message_put(bytes, m));
}

static int receive_bytes(struct peer_link *l, uint8_t *p, size_t n, uint64_t end)
{
	while (n) {
		ssize_t k = recv(l->fd, p, n, MSG_DONTWAIT);

		if (k > 0) {
			p += k;
			n -= (size_t)k;
		} else if (k == 0) {
			return fail(l, "the peer closed the connection: see its messages");
		} else if (errno != EAGAIN && errno != EINTR) {
			return fail(l, "the connection to the peer broke: %s", strerror(errno));
		} else if (!wait_for(l, l->fd, POLLIN, end)) {
			return fail(l, "the peer did not answer for %u s", l->patience_ms / 1000);
		}
	}
	return 0;
}

static int refuse(struct peer_link *l, enum peer_fault fault, uint32_t version)
{
	if (fault == PEER_NO_PEER)
		return fail(l, "what answers is no selftest: another program uses the port");
	if (fault == PEER_OTHER_VERSION)
		return fail(l,
			"the peer speaks version %u of the protocol, this program version %u: use "
			"the same version of rdmadump on both machines",
			version, PEER_VERSION);
	return fail(l, "the peer sent a message that is malformed, or not what comes next");
}

int peer_link_out_of_step(struct peer_link *l)
{
	return refuse(l, PEER_MALFORMED, PEER_VERSION);
}

int peer_link_receive(struct peer_link *l, enum peer_type type, struct peer_message *m)
{
	uint8_t head[PEER_HEAD], body[PEER_BODY];
	uint64_t end = in_ms(l->patience_ms);
	enum peer_fault fault;
	enum peer_type is;
	uint32_t version;
	size_t n;

	if (l->lost || receive_bytes(l, head, sizeof(head), end) < 0)
		return -1;
	fault = peer_head_get(head, &is, &n, &version);
	if (!fault && is != type)
		fault = PEER_MALFORMED;
	if (fault)
		return refuse(l, fault, version);
	if (receive_bytes(l, body, n, end) < 0)
		return -1;
	fault = peer_body_get(m, type, body);
	return fault ? refuse(l, fault, version) : 0;
}

static void begin(struct peer_link *l, const struct rd_selftest *st)
{
	*l = (struct peer_link){.st = st, .fd = -1, .patience_ms = PEER_MESSAGE_MS};
}

void peer_link_close(struct peer_link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

static int send_hello(struct peer_link *l, const struct peer_hello *here)
{
	return peer_link_send(l, &(struct peer_message){.type = PEER_HELLO, .hello = *here});
}

static int receive_hello(struct peer_link *l, struct peer_hello *there)
{
	struct peer_message m;

	if (peer_link_receive(l, PEER_HELLO, &m) < 0)
		return -1;
	*there = m.hello;
	return 0;
}

/* --- the end that connects ---------------------------------------------------------------- */

/* 0 or an errno. */
static int try_address(struct peer_link *l, const struct sockaddr_storage *to, uint64_t end)
{
	socklen_t room = sizeof(int);
	int error = 0;

	l->fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return errno;
	if (connect(l->fd, (const void *)to, peer_address_size(to)) == 0)
		return 0;
	if (errno != EINPROGRESS)
		error = errno;
	else if (!wait_for(l, l->fd, POLLOUT, end))
		error = ETIMEDOUT;
	else if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &room) < 0)
		error = errno;
	if (error)
		peer_link_close(l);
	return error;
}

/* The other end may start a moment later: a refusal is no answer yet. */
static int try_all(struct peer_link *l, const struct peer_addresses *to)
{
	uint64_t end = in_ms(PEER_CONNECT_MS);
	int error = ETIMEDOUT;

	do {
		for (unsigned int i = 0; i < to->n && !probe_over(l->st); i++) {
			error = try_address(l, &to->address[i], end);
			if (!error)
				return 0;
		}
		if (error != ECONNREFUSED)
			break;
		probe_sleep_ms(l->st, TRY_MS);
	} while (!probe_over(l->st) && rd_monotonic_ns() < end);
	return error;
}

static const char *advice(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return "start 'rdmadump selftest --listen DEV' there first";
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "name an address of the other machine that this one has a route to";
	default:
		return "check its address, and that no firewall filters the port";
	}
}

int peer_link_connect(struct peer_link *l, const struct rd_selftest *st,
	const struct peer_hello *here, struct peer_hello *there)
{
	struct peer_addresses to;
	const char *wrong;
	int error;

	begin(l, st);
	wrong = peer_addresses_find(&to, st->config->peer, st->config->control_port);
	if (wrong)
		return fail(l, "--peer '%s': %s", st->config->peer, wrong);
	error = try_all(l, &to);
	if (error)
		return fail(l, "cannot connect to %s, TCP port %u: %s: %s", st->config->peer,
			st->config->control_port, strerror(error), advice(error));
	return send_hello(l, here) < 0 ? -1 : receive_hello(l, there);
}

/* --- the end that listens ----------------------------------------------------------------- */

/* Of both families, where the machine has both. */
static int open_listener(uint16_t port)
{
	const struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	const int on = 1, off = 0, type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	int fd = socket(AF_INET6, type, 0), rc = -1;

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		rc = bind(fd, (const void *)&any6, sizeof(any6));
	}
	if (rc < 0 && (fd < 0 || errno == EADDRNOTAVAIL)) {
		if (fd >= 0)
			close(fd);
		fd = socket(AF_INET, type, 0);
		if (fd < 0)
			return -1;
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		rc = bind(fd, (const void *)&any4, sizeof(any4));
	}
	if (rc == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	rc = errno;
	close(fd);
	errno = rc;
	return -1;
}

/* An end of another version reads this end's version from the answer. */
static int greet(struct peer_link *l, const struct peer_hello *here, struct peer_hello *there)
{
	bool dead;
	int rc;

	l->patience_ms = PEER_HELLO_MS;
	rc = receive_hello(l, there);
	l->patience_ms = PEER_MESSAGE_MS;
	dead = l->lost;
	l->lost = false;
	if (rc == 0 || strstr(l->why, "version"))
		rc |= send_hello(l, here);
	l->lost |= dead;
	return rc;
}

/* Returns 0 with a peer, or -1 after STRANGERS, or at the end of the time. */
static int accept_peer(struct peer_link *l, int listener, const struct peer_addresses *allowed,
	const struct peer_hello *here, struct peer_hello *there)
{
	uint64_t end = in_ms(PEER_LISTEN_S * 1000);
	char last[256];

	for (unsigned int strangers = 0; strangers < STRANGERS;) {
		struct sockaddr_storage from = {0};
		socklen_t room = sizeof(from);

		if (!wait_for(l, listener, POLLIN, end))
			break;
		l->fd = accept4(listener, (void *)&from, &room, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (l->fd < 0) {
			probe_sleep_ms(l->st, TRY_MS);
			continue;
		}
		l->lost = false;
		if (allowed->n && !peer_addresses_have(allowed, &from))
			fail(l, "it is not from the host that --peer names");
		else if (greet(l, here, there) == 0)
			return 0;
		peer_link_close(l);
		strangers++;
		if (!probe_over(l->st))
			rd_log(RD_LOG_WARNING, "a connection was refused: %s", l->why);
	}
	snprintf(last, sizeof(last), "%.200s", l->why);
	l->why[0] = '\0';
	return fail(l, "no peer connected within %u s%s%s", PEER_LISTEN_S,
		*last ? "; the last connection was refused: " : "", last);
}

int peer_link_accept(struct peer_link *l, const struct rd_selftest *st,
	const struct peer_hello *here, struct peer_hello *there)
{
	struct peer_addresses allowed = {0};
	uint16_t port = st->config->control_port;
	const char *wrong = NULL;
	int listener, rc;

	begin(l, st);
	if (st->config->peer)
		wrong = peer_addresses_find(&allowed, st->config->peer, port);
	if (wrong)
		return fail(l, "--peer '%s': %s", st->config->peer, wrong);
	listener = open_listener(port);
	if (listener < 0)
		return fail(l, "cannot listen on TCP port %u: %s: --control-port names another one",
			port, strerror(errno));
	rd_log(RD_LOG_INFO, "waiting for the peer on TCP port %u, for %u s at most", port,
		PEER_LISTEN_S);
	rc = accept_peer(l, listener, &allowed, here, there);
	close(listener);
	return rc;
}
