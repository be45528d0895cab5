/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables that fit a terminal: they leave out columns before a row needs a second line. */
#include "layout.h"
#include <rdmadump/array.h>
#include <rdmadump/memory.h>
#include <stdarg.h>
#include <stdlib.h>

#define STACKED 2 /* the least room on the left of values whose row's name is above them */

struct plan {
	unsigned int width[GRID_COLUMNS];
	bool shown[GRID_COLUMNS], empty[GRID_COLUMNS];
	bool stacked; /* long first cells are on a line of their own */
};

void grid_put(struct grid *g, const char *format, ...)
{
	char **cell = rd_append(&g->cell, g->n_cells, sizeof(*cell));
	va_list args;

	va_start(args, format);
	if (cell && vasprintf(cell, format, args) >= 0)
		g->n_cells++;
	else
		g->failed = true;
	va_end(args);
}

static bool is_empty(const char *text)
{
	return !*text || !strcmp(text, "0") || !strcmp(text, "-");
}

void grid_drop_row(struct grid *g)
{
	for (unsigned int c = g->n_columns; c-- > 0 && g->n_cells;) {
		char *text = g->cell[--g->n_cells];

		g->filled[c] |= !is_empty(text);
		free(text);
	}
}

static void measure(const struct grid *g, size_t rows, struct plan *p)
{
	for (unsigned int c = 0; c < g->n_columns; c++) {
		p->width[c] = (unsigned int)strlen(g->column[c].name);
		p->empty[c] = c > 0;
		p->shown[c] = true;
		for (size_t r = 0; r < rows; r++) {
			const char *text = g->cell[r * g->n_columns + c];
			unsigned int width = (unsigned int)strlen(text);

			p->width[c] = RD_MAX(p->width[c], width);
			p->empty[c] &= is_empty(text);
		}
		p->empty[c] &= !g->filled[c];
	}
}

static unsigned int total(const struct grid *g, const struct plan *p)
{
	unsigned int sum = g->indent + (p->stacked ? STACKED : p->width[0]);

	for (unsigned int c = 1; c < g->n_columns; c++)
		sum += p->shown[c] ? 1 + p->width[c] : 0;
	return sum;
}

/* The next column that the table can do without; 0: none. */
static unsigned int least(const struct grid *g, const struct plan *p)
{
	unsigned int best = 0;

	for (unsigned int c = 1; c < g->n_columns; c++)
		if (p->shown[c] && g->column[c].leave &&
			(!best || g->column[c].leave < g->column[best].leave))
			best = c;
	return best;
}

static void leave_out(const struct grid *g, struct plan *p, unsigned int columns)
{
	unsigned int c;

	if (total(g, p) <= columns)
		return;
	for (c = 1; c < g->n_columns; c++)
		p->shown[c] = !p->empty[c];
	while (total(g, p) > columns && (c = least(g, p)) != 0)
		p->shown[c] = false;
}

static void make_plan(const struct grid *g, size_t rows, struct plan *p, unsigned int columns)
{
	unsigned int used;

	measure(g, rows, p);
	leave_out(g, p, columns);
	if (total(g, p) <= columns)
		return;
	for (unsigned int c = 0; c < g->n_columns; c++)
		p->shown[c] = true;
	p->stacked = true;
	leave_out(g, p, columns);
	used = total(g, p);
	p->width[0] = STACKED + (used < columns ? columns - used : 0);
}

static void put_row(const struct grid *g, const struct plan *p, const char *const *cell, FILE *out)
{
	const int left = (int)p->width[0];
	unsigned int last = 0;

	fprintf(out, "%*s", (int)g->indent, "");
	for (unsigned int c = 1; c < g->n_columns; c++)
		last = p->shown[c] ? c : last;
	if (strlen(cell[0]) > p->width[0])
		fprintf(out, "%s\n%*s", cell[0], left + (int)g->indent, "");
	else
		fprintf(out, "%*s", g->column[0].left ? -left : left, cell[0]);
	for (unsigned int c = 1; c < g->n_columns; c++) {
		int width = (int)p->width[c];

		if (!p->shown[c])
			continue;
		if (g->column[c].left)
			fprintf(out, " %-*s", c < last ? width : 0, cell[c]);
		else
			fprintf(out, " %*s", width, cell[c]);
	}
	fputc('\n', out);
}

/* The columns that are left out because they are empty, or for the others' sake. */
static void put_missing(
	const struct grid *g, const struct plan *p, bool empty, const char *before, FILE *out)
{
	const char *comma = before;

	for (unsigned int c = 1; c < g->n_columns; c++) {
		if (p->shown[c] || p->empty[c] != empty)
			continue;
		fprintf(out, "%s%s", comma, g->column[c].name);
		comma = ", ";
	}
	if (comma != before)
		fputc('\n', out);
}

void grid_print(struct grid *g, unsigned int columns, FILE *out,
	void (*after)(const void *ctx, size_t row, FILE *out), const void *ctx)
{
	const char *names[GRID_COLUMNS] = {NULL};
	size_t rows = g->n_cells / g->n_columns;
	struct plan p = {0};

	if (g->failed) {
		fputs("out of memory: a table is left out\n", out);
	} else {
		make_plan(g, rows, &p, columns);
		for (unsigned int c = 0; c < g->n_columns; c++)
			names[c] = g->column[c].name;
		put_row(g, &p, names, out);
		for (size_t r = 0; r < rows; r++) {
			put_row(g, &p, (const char *const *)g->cell + r * g->n_columns, out);
			if (after)
				after(ctx, r, out);
		}
		put_missing(g, &p, true, "columns left out, empty or 0: ", out);
		put_missing(g, &p, false, "columns left out, no room: ", out);
	}
	for (size_t i = 0; i < g->n_cells; i++)
		free(g->cell[i]);
	free(g->cell);
	g->cell = NULL;
	g->n_cells = 0;
}
