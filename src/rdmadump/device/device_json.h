/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices and ports as JSON, shared by `list`, `info` and `counters`. */
#ifndef RDMADUMP_DEVICE_JSON_H
#define RDMADUMP_DEVICE_JSON_H

#include <jansson.h>
#include <rdmadump/device.h>
#include <rdmadump/json.h>

/* "RoCE", "IB", "iWARP", "Ethernet", "". */
const char *rd_link_name(const struct rd_device *device, const struct rd_port *port);

/* Null for 0. */
json_t *rd_json_guid(uint64_t guid);
json_t *rd_json_netdevs(const struct rd_port *port);
json_t *rd_json_gids(const struct rd_device *device, const struct rd_port *port);
json_t *rd_json_function(const struct rd_function *function);
json_t *rd_json_representors(const struct rd_device *device);

#define RD_REFUSAL_LEN 160

/* "Remote I/O error (firmware status 0x3, syndrome 0x5a17c0)"; "" if it was not refused. */
const char *rd_refusal_text(
	char buf[static RD_REFUSAL_LEN], const struct rd_firmware_refusal *refusal);
/* An object, or null if it was not refused. */
json_t *rd_json_refusal(const struct rd_firmware_refusal *refusal);

/* All of them; fewer if out of memory. */
json_t *rd_json_devices(const struct rd_devices *devices);

#endif
