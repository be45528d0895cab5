/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cells of a QP pair in the table of the text report. */
#ifndef RDMADUMP_ANALYSIS_PAIR_ROWS_H
#define RDMADUMP_ANALYSIS_PAIR_ROWS_H

#include "layout.h"
#include <rdmadump/analysis.h>
#include <stddef.h>

#define PAIR_COLUMNS 10

extern const struct grid_column pair_columns[PAIR_COLUMNS];

/* "10.0.0.1:0x11"; with a question mark if the QP is unknown. */
void pair_endpoint_text(char *buf, size_t capacity, const struct rd_endpoint *e);
/* The packets of one side, in a row; `width`: of the first endpoint, in characters. */
void pair_row_put(struct grid *g, const struct rd_conversation *c, unsigned int side, int width);
/* Which cells of a row that is not printed have a value: far cheaper than to write them. */
void pair_row_note(struct grid *g, const struct rd_conversation *c, unsigned int side);

#endif
