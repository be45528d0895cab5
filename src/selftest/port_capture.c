/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens, attaches, detaches and closes a capture by the port sniffer. */
#include "port_capture.h"
#include <rdmadump/verbs.h>

/* The gateway's process is forked before memory is registered: both would share that memory. */
int port_capture_open(struct port_capture *c, const struct rd_device *device,
	const struct rd_port *port, struct rd_error *err)
{
	struct rd_port_sniffer_config config = {.device = device, .sysroot = "", .port = port->num};
	struct sniffer share = {0};
	int rc;

	*c = (struct port_capture){0};
	if (rd_port_sniffer_check_link(device, port, err) < 0 ||
		rd_verbs_device_open(&c->ctx, device->name, NULL, NULL, err) < 0)
		return -1;
	config.keep = c->ctx->cmd_fd;
	if (rd_port_sniffer_open(&c->icmd, &config, err) < 0)
		return -1;
	share.ctx = c->ctx;
	rc = sniffer_open(&c->queue, device, port, &share, NULL);
	if (!rc)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, rc, NULL, "%s of the port sniffer",
		sniffer_step_name(c->queue.reached));
}

int port_capture_attach(struct port_capture *c, unsigned int rules, struct rd_error *err)
{
	return rd_port_sniffer_attach(c->icmd, c->queue.qp->qp_num, rules, err);
}

/* The process keeps the device open until it has detached, so that its queue pair outlives that. */
void port_capture_close(struct port_capture *c)
{
	struct rd_error err;

	if (c->icmd)
		rd_port_sniffer_detach(c->icmd, &err);
	sniffer_close(&c->queue);
	rd_port_sniffer_close(c->icmd);
	if (c->ctx)
		ibv_close_device(c->ctx);
	*c = (struct port_capture){0};
}
