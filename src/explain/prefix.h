/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The beginning of a line of a log: its time, and the machine that printed it. */
#ifndef RDMADUMP_EXPLAIN_PREFIX_H
#define RDMADUMP_EXPLAIN_PREFIX_H

#include "line.h"

/* Sets time and host; what the line does not begin with stays "". */
void prefix_read(const char *line, size_t length, struct reading *r);
/*
 * Such a time in ns since 1970; 0: it has no date. A year that is not written is the one nearest to
 * `near_ns`; without a zone (*zoned false) it is in that of this machine.
 */
uint64_t prefix_time(const char *time, uint64_t near_ns, bool *zoned);

#endif
