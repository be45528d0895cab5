/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dumps of error CQEs of mlx5: libmlx5 prints them on stderr, the kernel in its log. */
#ifndef RDMADUMP_EXPLAIN_CQE_H
#define RDMADUMP_EXPLAIN_CQE_H

#include "line.h"

/*
 * The last of a dump's four lines has all that matters, so that dumps of several ranks may be
 * mixed: it ends with four words of eight hexadecimal digits, or sixteen of two. True if the line
 * is one, with a known syndrome: *r is what it says.
 */
bool cqe_line(const struct catalogue *c, const char *line, size_t length, struct reading *r);

#endif
