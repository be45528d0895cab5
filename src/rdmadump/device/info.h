/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of what `info` prints. */
#pragma once

#include <rdmadump/info.h>
#include <rdmadump/json.h>
#include <rdmadump/resource.h>
#include <rdmadump/sheet.h>

/* Devices and ports as JSON, shared by `list`, `info` and `counters`. */

/* "RoCE", "IB", "iWARP", "Ethernet", "". */
const char *rd_link_name(const struct rd_device *device, const struct rd_port *port);
/* "yes", "netdev", "no". */
const char *rd_verdict_name(unsigned int verdict);

/* Null for 0. */
json_t *rd_json_guid(uint64_t guid);
/* Null for a port that is not InfiniBand. */
json_t *rd_json_of_ib(const struct rd_port *port, uint32_t n);
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

/* What is printed, and how. */
struct info_output {
	struct rd_sheet *sheet;
	const struct rd_info *info;
	const struct rd_resources *resources; /* NULL: unknown */
	const char *no_resources;	      /* why */
	bool verbose;
};

/* DCB of the port's netdevs (info_dcb.c): part of the port's section. */
void rd_info_print_dcb(const struct info_output *t, const struct rd_port_info *port);

/* What is open on the device (info_open.c). */
void rd_info_print_open(const struct info_output *t);

/* Like snprintf(), but "" unless `known`. */
void rd_text_if(bool known, char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
