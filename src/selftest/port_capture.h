/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture by the port sniffer (rdmadump/port_sniffer.h), step by step: what --sniffer icmd tests.
 */
#ifndef RDMADUMP_SELFTEST_PORT_CAPTURE_H
#define RDMADUMP_SELFTEST_PORT_CAPTURE_H

#include "sniffer.h"
#include <rdmadump/port_sniffer.h>

struct port_capture {
	struct ibv_context *ctx;
	struct rd_port_sniffer *icmd;
	struct sniffer queue; /* without a flow */
};

/*
 * Starts the process of the command gateway, which detaches any attached sniffer, and creates the
 * receive queue. -1 with RD_CLASS_DEVICE; port_capture_close() in any case.
 */
int port_capture_open(struct port_capture *c, const struct rd_device *device,
	const struct rd_port *port, struct rd_error *err);
/* Attaches RD_SNIFF_...; rules that are no longer needed are detached first. -1 with
 * RD_CLASS_DEVICE. */
int port_capture_attach(struct port_capture *c, unsigned int rules, struct rd_error *err);
/* Detaches, and destroys all objects. */
void port_capture_close(struct port_capture *c);

#endif
