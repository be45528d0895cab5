/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a device's clock between two readings of the host's, and compares such readings. */
#include "clock_readings.h"
#include "../source/verbs_clock_follow.h"
#include <stdlib.h>

#define TRIES	  8	  /* attempts per reading: the fastest is used */
#define STEP_NS	  1000000 /* a difference by more, beyond what drift explains, is a step */
#define DRIFT_MAX 0.002	  /* more than any oscillator drifts */

/* --- the clocks --------------------------------------------------------------------------- */

static bool read_driver(struct ibv_context *ctx, uint64_t *ns)
{
	struct clock_map map = {0};
	struct clock_line line;
	uint64_t ticks;

	if (!verbs_mlx5_clock_line(ctx, &line, &map.unused) ||
		!verbs_clock_read_counter(ctx, &ticks))
		return false;
	clock_map_add(&map, &line);
	*ns = clock_map_ns(&map, ticks);
	return true;
}

static const struct {
	const char *name;
	bool (*read)(struct ibv_context *ctx, uint64_t *value);
} clocks[DEVICE_CLOCKS] = {[CLOCK_COUNTER] = {"counter", verbs_clock_read_counter},
	[CLOCK_DRIVER] = {"driver", read_driver},
	[CLOCK_REAL_TIME] = {"real_time", verbs_mlx5_real_time_read}};

int64_t clock_ticks_between(uint64_t mask, uint64_t from, uint64_t to)
{
	unsigned int unused = mask ? (unsigned int)__builtin_clzll(mask) : 0;

	return (int64_t)((to - from) << unused) >> unused;
}

double clock_ticks_ns(uint64_t khz, int64_t ticks)
{
	return khz ? (double)ticks * 1e6 / (double)khz : 0;
}

/* --- readings ----------------------------------------------------------------------------- */

static bool read_once(struct clock_watch *w, struct clock_reading *best)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 0; i < TRIES; i++) {
		struct clock_reading one;

		one.before = rd_clock_now(w->host);
		if (!clocks[w->clock].read(w->ctx, &one.value))
			continue;
		one.after = rd_clock_now(w->host);
		if (one.after - one.before >= least)
			continue;
		least = one.after - one.before;
		*best = one;
	}
	if (least < w->cost_ns)
		w->cost_ns = least;
	return least != UINT64_MAX;
}

/* The counter's ticks become ns since the first reading. */
static void count(struct clock_watch *w, struct clock_reading *now)
{
	uint64_t ticks = now->value;

	if (w->clock != CLOCK_COUNTER)
		return;
	if (w->readings)
		w->passed += (ticks - w->ticks) & w->mask;
	w->ticks = ticks;
	now->value = (uint64_t)clock_ticks_ns(w->khz, (int64_t)w->passed);
}

void clock_watch_start(struct clock_watch *w, enum device_clock clock, struct ibv_context *ctx,
	const struct rd_clock *host, uint64_t mask, uint64_t khz)
{
	*w = (struct clock_watch){.name = clocks[clock].name,
		.clock = clock,
		.ctx = ctx,
		.host = host,
		.mask = mask,
		.khz = khz,
		.cost_ns = UINT64_MAX};
	w->readable = read_once(w, &w->first);
	if (!w->readable)
		return;
	count(w, &w->first);
	w->last = w->first;
	w->readings = 1;
}

/* The least amount by which the device's clock moved against the host's, in ns; 0: within the
 * uncertainty. */
static int64_t moved(const struct clock_reading *a, const struct clock_reading *b)
{
	int64_t past = (int64_t)(b->value - a->value);
	int64_t least = (int64_t)(b->before - a->after), most = (int64_t)(b->after - a->before);

	return past > most ? past - most : past < least ? past - least : 0;
}

void clock_watch_read(struct clock_watch *w)
{
	struct clock_reading now;
	int64_t by, normal;

	if (!w->readable || !read_once(w, &now))
		return;
	count(w, &now);
	by = moved(&w->last, &now);
	normal = STEP_NS + (int64_t)((double)(now.after - w->last.before) * DRIFT_MAX);
	if (by > normal || by < -normal) {
		w->steps++;
		if (llabs(by) > llabs(w->step_ns))
			w->step_ns = by;
	}
	w->last = now;
	w->readings++;
}

int64_t clock_watch_ahead(const struct clock_watch *w)
{
	return (int64_t)(w->last.value - w->last.before - (w->last.after - w->last.before) / 2);
}

bool clock_watch_drift(const struct clock_watch *w, double *ppm, double *uncertainty)
{
	double width = (double)(w->first.after - w->first.before + w->last.after - w->last.before);
	double host =
		(double)(w->last.before + w->last.after - w->first.before - w->first.after) / 2;
	double device = (double)(w->last.value - w->first.value);

	if (w->readings < 2 || w->steps || host <= width)
		return false;
	*ppm = (device - host) / host * 1e6;
	*uncertainty = width / 2 / host * 1e6;
	return true;
}
