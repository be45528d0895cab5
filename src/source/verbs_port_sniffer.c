/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sniffer that a firmware command attaches to the queue pair, in place of a flow
 * (rdmadump/port_sniffer.h).
 */
#include "verbs_port.h"

int verbs_port_sniffer_open(
	struct verbs_port *port, const struct rd_verbs_config *config, struct rd_error *err)
{
	const struct rd_port_sniffer_config how = {.device = config->device,
		.sysroot = config->sysroot,
		.port = port->num,
		.keep = port->ctx->cmd_fd,
		.waiting = config->waiting,
		.ctx = config->ctx};

	if (config->sniffer != RD_SNIFFER_ICMD)
		return 0;
	return rd_port_sniffer_open(&port->icmd.sniffer, &how, err);
}

int verbs_port_sniffer_attach(struct verbs_port *port, struct rd_error *err)
{
	/* Even if it fails: it may be attached all the same, and then the queue pair must stay. */
	port->icmd.attached = true;
	return rd_port_sniffer_attach(port->icmd.sniffer, port->qp->qp_num, err);
}

int verbs_port_sniffer_detach(struct verbs_port *port, struct rd_error *err)
{
	if (!port->icmd.attached)
		return 0;
	port->icmd.attached = false;
	if (rd_port_sniffer_detach(port->icmd.sniffer, err) == 0)
		return 0;
	/* The queue pair must not be freed while frames are copied to it. */
	port->abandoned = true;
	port->icmd.left = *err;
	port->icmd.left.class = RD_CLASS_PARTIAL;
	return -1;
}

void verbs_port_sniffer_close(struct verbs_port *port)
{
	rd_port_sniffer_close(port->icmd.sniffer);
	port->icmd.sniffer = NULL;
}
