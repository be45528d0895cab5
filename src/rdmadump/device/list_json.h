/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices and ports as JSON, shared by `list` and `info`. */
#ifndef RDMADUMP_LIST_JSON_H
#define RDMADUMP_LIST_JSON_H

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

/* All of them; fewer if out of memory. */
json_t *rd_json_devices(const struct rd_devices *devices);

#endif
