/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The whole judgement on a port, of which rd_port_verdict() tells the outside world. */
#ifndef RDMADUMP_DEVICE_VERDICT_H
#define RDMADUMP_DEVICE_VERDICT_H

#include <rdmadump/device.h>

struct rd_judgement {
	enum rd_verdict verdict;
	bool whole; /* what is captured is all RDMA traffic of the port */
	const char *why, *todo;
};

struct rd_judgement rd_port_judge(const struct rd_device *device, const struct rd_port *port);

#endif
