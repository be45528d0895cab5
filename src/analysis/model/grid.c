/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time series of all flows on one grid; when it is full, the width of a step doubles. */
#include "grid.h"
#include <rdmadump/array.h>
#include <stdlib.h>

#define FIRST_WIDTH 1024 /* ns */

bool grid_init(struct grid *g)
{
	*g = (struct grid){.width = FIRST_WIDTH, .n_rows = 1};
	g->rows[0] = calloc(RD_SERIES_POINTS, sizeof(struct rd_point));
	return g->rows[0] != NULL;
}

void grid_free(struct grid *g)
{
	for (unsigned int i = 0; i < g->n_rows; i++)
		free(g->rows[i]);
}

unsigned int grid_row(struct grid *g)
{
	if (g->n_rows == SERIES_KEPT)
		return 0;
	g->rows[g->n_rows] = calloc(RD_SERIES_POINTS, sizeof(struct rd_point));
	return g->rows[g->n_rows] ? g->n_rows++ : 0;
}

static void point_add(struct rd_point *to, const struct rd_point *p)
{
	to->wire_bytes += p->wire_bytes;
	to->goodput_bytes += p->goodput_bytes;
	to->frames += p->frames;
	to->retransmitted += p->retransmitted;
	to->cnp += p->cnp;
	to->ce += p->ce;
	to->nak += p->nak;
	to->latency_n += p->latency_n;
	to->latency_sum_ns += p->latency_sum_ns;
	to->latency_max_ns = RD_MAX(to->latency_max_ns, p->latency_max_ns);
}

/* Adds each two points into one. */
static void row_fold(struct rd_point *row)
{
	enum { HALF = RD_SERIES_POINTS / 2 };

	for (unsigned int i = 0; i < HALF; i++) {
		struct rd_point sum = row[2 * i];

		point_add(&sum, &row[2 * i + 1]);
		row[i] = sum;
	}
	memset(row + HALF, 0, HALF * sizeof(*row));
}

void grid_move(struct grid *g, uint64_t ns)
{
	if (!g->start)
		g->start = ns;
	if (ns < g->start) /* the clock was set back: count it in the first point */
		ns = g->start;
	while ((ns - g->start) / g->width >= RD_SERIES_POINTS) {
		g->width *= 2;
		for (unsigned int i = 0; i < g->n_rows; i++)
			row_fold(g->rows[i]);
		g->last /= 2;
	}
	g->at = (unsigned int)((ns - g->start) / g->width);
	g->since = g->start + g->at * g->width;
	g->last = RD_MAX(g->last, g->at);
}

bool points_init(struct rd_series *s, const struct grid *g)
{
	s->start_ns = g->start;
	s->width_ns = g->width;
	s->points = calloc(RD_SERIES_POINTS, sizeof(*s->points));
	s->n = s->points ? g->last + 1 : 0;
	return s->points != NULL;
}

void points_add(struct rd_series *s, const struct rd_point *row)
{
	for (unsigned int i = 0; i < s->n; i++)
		point_add(&s->points[i], &row[i]);
}
