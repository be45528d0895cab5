/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of applications, and what a connection request asks for. */
#include "apps.h"

#define IP_DATA	 36 /* annex A11: addresses, before the private data of the application */
#define PORT_TCP 6

/* NVMe last: a capsule has fewer bytes that identify it. */
const struct app *const apps[APPS] = {&app_rpc, &app_nvme};

static bool has_port(const struct app *app, uint16_t port)
{
	return port && (app->ports[0] == port || app->ports[1] == port);
}

unsigned int app_asked(
	const struct rd_cm *cm, uint16_t *port, uint8_t *signs, struct rd_app_queue *queue)
{
	struct rd_cm_ip ip;

	*port = 0;
	*signs = 0;
	*queue = (struct rd_app_queue){0};
	if (!rd_cm_ip(cm, &ip) || ip.protocol != PORT_TCP)
		return 0;
	*port = ip.port;
	for (unsigned int i = 0; i < APPS; i++) {
		const struct app *app = apps[i];
		uint8_t found = has_port(app, ip.port) ? RD_APP_BY_PORT : 0;

		if (ip.length && app->private_data &&
			app->private_data(
				cm->private_data + IP_DATA, cm->private_len - IP_DATA, queue))
			found |= RD_APP_BY_PRIVATE;
		if (found) {
			*signs = found;
			return i + 1;
		}
	}
	return 0;
}
