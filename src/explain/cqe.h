/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dumps of error CQEs of mlx5: libmlx5 prints them on stderr, the kernel in its log. */
#ifndef RDMADUMP_EXPLAIN_CQE_H
#define RDMADUMP_EXPLAIN_CQE_H

#include "line.h"

struct cqe_dump {
	unsigned char bytes[64];
	unsigned int n; /* bytes that the last lines had */
};

/*
 * Takes a line: the last four words of eight hexadecimal digits each, or sixteen of two. True if a
 * dump is complete: *r is what it says. Any other line begins a new one.
 */
bool cqe_line(const struct catalogue *c, struct cqe_dump *d, const char *line, size_t length,
	struct reading *r);

#endif
