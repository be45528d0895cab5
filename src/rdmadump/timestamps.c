/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture -J: prints the timestamp types of devices. */
#include "capture.h"
#include <stdio.h>

static int list_one(const struct rd_device *device, struct rd_error *err)
{
	struct rd_stamp_choice choices[RD_STAMP_TYPES];

	if (rd_verbs_clocks(device, choices, err) < 0)
		return -1;
	printf("Timestamp types of %s (-j TYPE):\n", device->name);
	for (unsigned int i = 0; i < RD_STAMP_TYPES; i++)
		printf("  %-18s%s%s%s\n", rd_stamp_types[i].name, choices[i].clock ? "" : "no: ",
			choices[i].clock ? rd_stamp_types[i].help : choices[i].why,
			choices[i].clock && i == RD_STAMPS_AUTO
				? choices[RD_STAMPS_ADAPTER].clock ? " (default; here: adapter)"
								   : " (default; here: host)"
				: "");
	return 0;
}

static int list_all(
	const struct capture_options *o, const struct rd_devices *devices, struct rd_error *err)
{
	const struct rd_wanted_port any = {0};
	const struct rd_device *device;
	const struct rd_port *port;

	for (unsigned int i = 0; i == 0 || i < o->session.n_wanted; i++)
		if (rd_wanted_port_find(devices, o->session.n_wanted ? &o->wanted[i] : &any,
			    &device, &port, err) < 0 ||
			list_one(device, err) < 0)
			return -1;
	return 0;
}

int timestamps_list(const struct capture_options *o, struct rd_error *err)
{
	struct rd_devices devices = {0};
	int rc = rd_devices_load(&devices, "", err);

	if (rc == 0)
		rc = list_all(o, &devices, err);
	rd_devices_free(&devices);
	return rc;
}
