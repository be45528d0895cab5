/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The refusal of a command as text and JSON, for `info` and `counters`. */
#ifndef RDMADUMP_CLI_REFUSAL_H
#define RDMADUMP_CLI_REFUSAL_H

#include <jansson.h>
#include <rdmadump/device.h>

#define RD_REFUSAL_LEN 160

/* "Remote I/O error (firmware status 0x3, syndrome 0x5a17c0)"; "" if it was not refused. */
const char *rd_refusal_text(
	char buf[static RD_REFUSAL_LEN], const struct rd_firmware_refusal *refusal);
/* An object, or null if it was not refused. */
json_t *rd_json_refusal(const struct rd_firmware_refusal *refusal);

#endif
