/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dumpcap's KEY:VALUE pairs, separated by commas. Return 0, or -1 with the error. */
#ifndef RDMADUMP_CLI_OPTION_KEYS_H
#define RDMADUMP_CLI_OPTION_KEYS_H

#include "capture.h"

#define SECONDS_MAX 4000000000U
#define FILES_MAX   100000

int option_ring_buffer(struct capture_options *o, const char *arg, struct rd_error *err);

#endif
