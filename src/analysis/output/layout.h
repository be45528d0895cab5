/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text that fits a terminal: lines that continue on the next one, and tables (layout.c, grid.c). */
#ifndef RDMADUMP_ANALYSIS_LAYOUT_H
#define RDMADUMP_ANALYSIS_LAYOUT_H

#include <rdmadump/analysis.h>

/* The width of the terminal, 40 at least; 80 where it is unknown. */
unsigned int layout_columns(const struct rd_report_style *style);
/* Prints the text in lines without indentation, each with as many words as fit. */
void layout_paragraph(FILE *out, const char *text, unsigned int columns);
/*
 * A line that does not fit continues in further ones, which are indented by `hang`. Returns how
 * many bytes of the text belong on this line, and in *next where the next line begins. `at` is the
 * column at which the text begins.
 */
size_t layout_break(const char *text, unsigned int at, unsigned int columns, size_t *next);
/*
 * A stream whose lines are written to `out`, continued where they do not fit, two columns further
 * right than they begin. fclose() does not close `out`. NULL: out of memory.
 */
FILE *layout_open(FILE *out, unsigned int columns);

/* A column of a table. */
struct grid_column {
	const char *name;
	bool left;	    /* aligned to the left */
	unsigned int leave; /* what is left out first where the table does not fit; 0: never */
};

#define GRID_COLUMNS 12

struct grid {
	const struct grid_column *column;
	unsigned int n_columns;
	unsigned int indent;
	char **cell; /* row by row; the first of a row names it */
	size_t n_cells, capacity;
	bool filled[GRID_COLUMNS]; /* a row that is not printed has a value there */
	bool failed;		   /* out of memory */
};

/* The next cell of a row, from left to right. */
void grid_put(struct grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes the last row out again: its columns are not empty, but it is not printed. */
void grid_drop_row(struct grid *g);
/*
 * Prints the table, and after each row what `after` prints (NULL: nothing), and frees the cells.
 * Where it does not fit, columns without a value are left out, then those that may be, and then
 * long first cells get a line of their own.
 */
void grid_print(struct grid *g, unsigned int columns, FILE *out,
	void (*after)(const void *ctx, size_t row, FILE *out), const void *ctx);

#endif
