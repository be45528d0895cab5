/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture by the port sniffer in another process, which the caller kills. */
#include "port_capture.h"
#include <errno.h>
#include <poll.h>
#include <rdmadump/log.h>
#include <stdio.h>
#include <unistd.h>

#define POLL_MS 1

static bool has_ended(int fd)
{
	struct pollfd in = {.fd = fd, .events = POLLIN};
	char byte;

	return poll(&in, 1, POLL_MS) > 0 && read(fd, &byte, 1) <= 0;
}

static int hold(struct port_capture *c, const struct rd_device *device, const struct rd_port *port,
	struct rd_error *err)
{
	if (port_capture_open(c, device, port, err) < 0)
		return -1;
	return port_capture_attach(c, RD_SNIFF_BOTH, err);
}

int rd_selftest_hold_icmd(const struct rd_device *device, const struct rd_port *port, int in,
	int out, struct rd_error *err)
{
	struct port_capture c;
	char line[32];
	int rc = hold(&c, device, port, err), n;

	n = snprintf(line, sizeof(line), "attach %d\n", rc < 0 ? EIO : 0);
	if (write(out, line, (size_t)n) != n && rc == 0)
		rc = rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot write to the parent");
	while (!rc && !has_ended(in))
		sniffer_drain(&c.queue, NULL, NULL);
	port_capture_close(&c);
	return rc;
}
