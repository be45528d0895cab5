/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The beginning of a line of a log: its time, and the machine that printed it. */
#ifndef RDMADUMP_EXPLAIN_PREFIX_H
#define RDMADUMP_EXPLAIN_PREFIX_H

#include "line.h"

/* Sets time and host; what the line does not begin with stays "". */
void prefix_read(const char *line, size_t length, struct reading *r);

#endif
