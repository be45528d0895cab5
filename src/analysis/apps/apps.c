/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of applications, and what a connection request asks for. */
#include "apps.h"

#define IP_DATA	 36 /* annex A11: addresses, before the private data of the application */
#define PORT_TCP 6

#define APP(name) &app_##name,
const struct app *const apps[APPS] = {
#include "apps.def"
};
#undef APP

void app_asked(const struct rd_cm *cm, struct rd_connection *made)
{
	struct rd_cm_ip ip;

	if (!rd_cm_ip(cm, &ip) || ip.protocol != PORT_TCP)
		return;
	made->port = ip.port;
	for (uint8_t i = 0; i < APPS && !made->app; i++) {
		const struct app *app = apps[i];

		made->app_signs = ip.port && (app->ports[0] == ip.port || app->ports[1] == ip.port)
					  ? RD_APP_BY_PORT
					  : 0;
		if (ip.length && app->private_data &&
			app->private_data(cm->private_data + IP_DATA, cm->private_len - IP_DATA,
				&made->queue))
			made->app_signs |= RD_APP_BY_PRIVATE;
		if (made->app_signs)
			made->app = (uint8_t)(i + 1);
	}
}
