/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The frames that a probe kept, as a pcapng file in memory. */
#ifndef RDMADUMP_SELFTEST_CAPTURE_FILE_H
#define RDMADUMP_SELFTEST_CAPTURE_FILE_H

#include "selftest.h"

/* Returns 0 with the file, whose bytes the caller frees; -1: out of memory. */
int capture_file(
	const struct rd_selftest *st, const struct rd_probe_result *r, uint8_t **bytes, size_t *n);

#endif
