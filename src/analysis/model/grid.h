/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time series: rows of points with equal steps. */
#pragma once

#include <rdmadump/analysis.h>

#define SERIES_KEPT 1024 /* flows with a series of their own; the others share row 0 */

struct grid {
	uint64_t start, width;
	uint64_t since;			    /* start of the current point */
	unsigned int at;		    /* its number */
	unsigned int last;		    /* the highest one used */
	struct rd_point *rows[SERIES_KEPT]; /* RD_SERIES_POINTS each; [0] is shared */
	unsigned int n_rows;
};

bool grid_init(struct grid *g);
void grid_free(struct grid *g);
/* Allocates a row for a flow; 0, the shared one, if there is no room. */
unsigned int grid_row(struct grid *g);
/* Makes ns the current time. */
void grid_move(struct grid *g, uint64_t ns);

/* Makes an empty series with the number of points that the grid uses. False if out of memory. */
bool points_init(struct rd_series *s, const struct grid *g);
/* Adds a row of the grid. */
void points_add(struct rd_series *s, const struct rd_point *row);

static inline struct rd_point *grid_point(struct grid *g, unsigned int row, uint64_t ns)
{
	if (ns - g->since >= g->width)
		grid_move(g, ns);
	return &g->rows[row][g->at];
}
