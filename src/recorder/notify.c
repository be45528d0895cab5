/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notifies the service manager that the recorder is ready and alive: the protocol of sd_notify(3),
 * one datagram for each message.
 */
#include "recorder.h"
#include <rdmadump/fd.h>
#include <rdmadump/units.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

bool notify_datagram(const char *path, const char *data, size_t n)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	bool sent;
	int fd;

	if (len >= sizeof(to.sun_path))
		return false;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	sent = fd >= 0 && sendto(fd, data, n, MSG_NOSIGNAL, (const struct sockaddr *)&to,
				  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) >= 0;
	rd_fd_close(&fd);
	return sent;
}

void notify_send(const struct rd_recorder *r, const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");

	if (!r->config.notify || !path || !path[0] || !path[1] ||
		(path[0] != '/' && path[0] != '@'))
		return;
	if (!notify_datagram(path, state, strlen(state)))
		rd_log(RD_LOG_DEBUG, "the service manager at '%s' cannot be reached", path);
}

/* The watchdog's interval in ns, in which it expects two messages; 0: no watchdog. */
static uint64_t watchdog_interval(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t us, whose;

	if (!usec || rd_parse_u64(usec, 1, UINT64_MAX / 1000, &us))
		return 0;
	if (pid && (rd_parse_u64(pid, 1, INT32_MAX, &whose) || (pid_t)whose != getpid()))
		return 0;
	return us * 1000 / 2;
}

void notify_alive(struct rd_recorder *r)
{
	uint64_t interval = watchdog_interval(), now = rd_monotonic_ns();

	if (!interval || now - r->notified_ns < interval / 2)
		return;
	notify_send(r, "WATCHDOG=1");
	r->notified_ns = now;
}
