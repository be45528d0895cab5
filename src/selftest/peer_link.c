/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connects, and passes messages with a limit of time for each. */
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
#define STEP_MS	    50
#define STEP_OF_ONE 1 /* ms; the caller also waits for frames meanwhile */

/* An interruption is not a fault of the peer. */
int peer_link_fail(struct peer_link *l, const char *fmt, ...)
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

/* True: the descriptor is ready. False: timeout, or the probe must end. */
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
			return peer_link_fail(
				l, "the connection to the peer broke: %s", strerror(errno));
		} else if (!wait_for(l, l->fd, POLLOUT, end)) {
			return peer_link_fail(
				l, "the peer took nothing for %u s", PEER_MESSAGE_MS / 1000);
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
			return peer_link_fail(
				l, "the peer closed the connection: see its messages");
		} else if (errno != EAGAIN && errno != EINTR) {
			return peer_link_fail(
				l, "the connection to the peer broke: %s", strerror(errno));
		} else if (!wait_for(l, l->fd, POLLIN, end)) {
			return peer_link_fail(
				l, "the peer did not respond for %u s", l->patience_ms / 1000);
		}
	}
	return 0;
}

int peer_link_refuse(struct peer_link *l, enum peer_fault fault, uint32_t version)
{
	if (fault == PEER_NO_PEER)
		return peer_link_fail(
			l, "the peer is not rdmadump selftest: another program uses the port");
	if (fault == PEER_OTHER_VERSION)
		return peer_link_fail(l,
			"the peer uses version %u of the protocol, this program version %u: use "
			"the same version of rdmadump on both machines",
			version, PEER_VERSION);
	return peer_link_fail(
		l, "the peer sent a message that is malformed, or not what comes next");
}

int peer_link_out_of_step(struct peer_link *l)
{
	return peer_link_refuse(l, PEER_MALFORMED, PEER_VERSION);
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
		return peer_link_refuse(l, fault, version);
	if (receive_bytes(l, body, n, end) < 0)
		return -1;
	fault = peer_body_get(m, type, body);
	return fault ? peer_link_refuse(l, fault, version) : 0;
}

void peer_link_begin(struct peer_link *l, const struct rd_selftest *st)
{
	*l = (struct peer_link){.st = st, .fd = -1, .patience_ms = PEER_MESSAGE_MS};
}

void peer_link_close(struct peer_link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

int peer_link_hello(struct peer_link *l, const struct peer_hello *here)
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
	socklen_t capacity = sizeof(int);
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
	else if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &capacity) < 0)
		error = errno;
	if (error)
		peer_link_close(l);
	return error;
}

/* The other end may start a moment later: a refused connection is retried. */
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

	peer_link_begin(l, st);
	wrong = peer_addresses_find(&to, st);
	if (wrong)
		return peer_link_fail(l, "--peer '%s': %s", st->config->peer, wrong);
	error = try_all(l, &to);
	if (error)
		return peer_link_fail(l, "cannot connect to %s, TCP port %u: %s: %s",
			st->config->peer, st->config->control_port, strerror(error), advice(error));
	return peer_link_hello(l, here) < 0 ? -1 : receive_hello(l, there);
}
