/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What happened in each interval of a length that the user chose, and how often each opcode. */
#include "interval.h"
#include "state.h"
#include <stdlib.h>

#define TAKE_BACK_ROWS 1024 /* how far back an incident is searched that was none */

struct intervals {
	struct rd_intervals all;
	bool started;
	size_t capacity, at; /* the current row */
	uint64_t since;	     /* its start */
	/* Of the totals when it began. */
	uint64_t frames, rdma_frames, wire_bytes;
};

struct intervals *intervals_open(uint64_t width_ns)
{
	struct intervals *v = calloc(1, sizeof(*v));

	if (v)
		v->all.wanted_ns = v->all.width_ns = width_ns;
	return v;
}

void intervals_free(struct intervals *v)
{
	if (!v)
		return;
	free(v->all.rows);
	free(v);
}

static void row_add(struct rd_interval *to, const struct rd_interval *x)
{
	to->frames += x->frames;
	to->rdma_frames += x->rdma_frames;
	to->wire_bytes += x->wire_bytes;
	to->retransmitted += x->retransmitted;
	to->nak += x->nak;
	to->rnr += x->rnr;
	to->cnp += x->cnp;
	to->ce += x->ce;
}

/* Adds each two rows into one. */
static void fold(struct intervals *v)
{
	struct rd_interval *rows = v->all.rows;

	for (size_t i = 0; i < v->all.n; i++) {
		struct rd_interval row = rows[i];

		if (i % 2)
			row_add(&rows[i / 2], &row);
		else
			rows[i / 2] = row;
	}
	v->all.n = (v->all.n + 1) / 2;
	v->all.width_ns *= 2;
}

/* Room for n rows; all between are empty. False if out of memory. */
static bool reserve(struct intervals *v, size_t n)
{
	struct rd_interval *rows;
	size_t capacity = v->capacity ? v->capacity : 256;

	while (capacity < n)
		capacity *= 2;
	if (capacity > v->capacity) {
		rows = reallocarray(v->all.rows, capacity, sizeof(*rows));
		if (!rows)
			return false;
		v->all.rows = rows;
		v->capacity = capacity;
	}
	if (n > v->all.n) {
		memset(v->all.rows + v->all.n, 0, (n - v->all.n) * sizeof(*v->all.rows));
		v->all.n = n;
	}
	return true;
}

static void row_end(struct intervals *v, const struct rd_totals *t)
{
	const struct rd_interval row = {.frames = t->frames - v->frames,
		.rdma_frames = t->rdma_frames - v->rdma_frames,
		.wire_bytes = t->wire_bytes - v->wire_bytes};

	v->frames = t->frames;
	v->rdma_frames = t->rdma_frames;
	v->wire_bytes = t->wire_bytes;
	if (v->at < v->all.n)
		row_add(&v->all.rows[v->at], &row);
}

void intervals_move(struct rd_analysis *a, uint64_t ns)
{
	struct intervals *v = a->asked.intervals;
	uint64_t at;

	if (!v->started) {
		v->started = true;
		v->all.start_ns = v->since = ns;
	} else if (ns - v->since < v->all.width_ns) {
		return;
	}
	row_end(v, &a->totals);
	/* Earlier than the first frame: the clock was set back. */
	ns = ns > v->all.start_ns ? ns - v->all.start_ns : 0;
	while ((at = ns / v->all.width_ns) >= RD_INTERVALS_MAX)
		fold(v);
	if (!reserve(v, (size_t)at + 1)) {
		a->out_of_memory = true;
		at = v->at;
	}
	v->at = (size_t)at;
	v->since = v->all.start_ns + at * v->all.width_ns;
}

static uint64_t *count_of(struct rd_interval *row, enum rd_incident_kind kind)
{
	switch (kind) {
	case RD_INC_RETRANSMITTED:
		return &row->retransmitted;
	case RD_INC_NAK_SEQUENCE:
	case RD_INC_NAK_INVALID:
	case RD_INC_NAK_ACCESS:
	case RD_INC_NAK_OPERATIONAL:
	case RD_INC_NAK_OTHER:
		return &row->nak;
	case RD_INC_RNR:
		return &row->rnr;
	case RD_INC_CNP:
		return &row->cnp;
	case RD_INC_CE:
		return &row->ce;
	default:
		return NULL;
	}
}

void intervals_incident(struct intervals *v, enum rd_incident_kind kind, uint64_t n)
{
	uint64_t *count = v->at < v->all.n ? count_of(&v->all.rows[v->at], kind) : NULL;

	if (count)
		*count += n;
}

void intervals_take_back(struct intervals *v, enum rd_incident_kind kind)
{
	for (size_t i = 0; i <= v->at && i < TAKE_BACK_ROWS && v->at < v->all.n; i++) {
		uint64_t *count = count_of(&v->all.rows[v->at - i], kind);

		if (count && *count) {
			--*count;
			return;
		}
	}
}

void intervals_take(struct rd_intervals *to, struct intervals *v, const struct rd_totals *t)
{
	row_end(v, t);
	*to = v->all;
	v->all = (struct rd_intervals){0};
}
