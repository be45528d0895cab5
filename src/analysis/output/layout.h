/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fits text to a terminal: wrapped lines and tables (layout.c, grid.c). */
#pragma once

#include <rdmadump/report_output.h>

/* The width of the terminal, at least 40; 80 if it is unknown. */
unsigned int layout_columns(const struct rd_report_style *style);
/* Prints a label, and from column `at` on the text, in lines with as many words as fit. */
void layout_row(
	FILE *out, const char *label, unsigned int at, const char *text, unsigned int columns);
/*
 * A stream whose lines are written to `out` and wrapped if they do not fit; further lines are
 * indented by two more columns. fclose() does not close `out`. NULL: out of memory.
 */
FILE *layout_open(FILE *out, unsigned int columns);

/* A column of a table. */
struct grid_column {
	const char *name;
	bool left; /* aligned to the left */
	unsigned int
		leave; /* which columns are left out first if the table does not fit; 0: never */
};

#define GRID_COLUMNS 12

struct grid {
	const struct grid_column *column;
	unsigned int n_columns;
	unsigned int indent;
	char **cell; /* row by row; the first of a row names it */
	size_t n_cells;
	bool filled[GRID_COLUMNS]; /* a row that is not printed has a value there */
	bool failed;		   /* out of memory */
};

/* The next cell of a row, from left to right. */
void grid_put(struct grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Does not print the last row; its columns still count as not empty. */
void grid_drop_row(struct grid *g);
/*
 * Prints the table, calls `after` (may be NULL) after each row, and frees the cells. If it does not
 * fit, columns without a value are left out, then optional columns; then long first cells get a
 * line of their own.
 */
void grid_print(struct grid *g, unsigned int columns, FILE *out,
	void (*after)(const void *ctx, size_t row, FILE *out), const void *ctx);

/* --- the cells of a QP pair in the table of the text report (pair_rows.c) -------------------- */

#define PAIR_COLUMNS 10

extern const struct grid_column pair_columns[PAIR_COLUMNS];

/* "10.0.0.1:0x11"; with a question mark if the QP is unknown. */
void pair_endpoint_text(char *buf, size_t capacity, const struct rd_endpoint *e);
/* The packets of one side, in a row; `width`: of the first endpoint, in characters. */
void pair_row_put(struct grid *g, const struct rd_conversation *c, unsigned int side, int width);
/* Which cells of a row that is not printed have a value: far cheaper than to write them. */
void pair_row_note(struct grid *g, const struct rd_conversation *c, unsigned int side);

struct rd_points;
/* What faulty paths have in common, and which hosts were not captured. */
void points_found_text(const struct rd_points *p, const struct rd_report_style *style, FILE *out);
