/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts ticks of a free-running counter to nanoseconds of the host's clock, which drift apart.
 */
#ifndef RDMADUMP_SOURCE_CLOCK_MAP_H
#define RDMADUMP_SOURCE_CLOCK_MAP_H

#include <rdmadump/device_clock.h>
#include <stdbool.h>
#include <stdint.h>

/* A straight line, accurate near its beginning. */
struct clock_line {
	uint64_t ticks, ns; /* where it begins */
	uint64_t rate;	    /* ns per tick, with 32 fractional bits */
};

#define CLOCK_LINES 8 /* a frame may have waited for as long as the older ones were good */

/*
 * Consecutive lines. Each tick lies on one of them, so that all queues convert it to the same time,
 * whenever they do.
 */
struct clock_map {
	struct clock_line line[CLOCK_LINES];
	unsigned int newest, n; /* index of the newest line; how many there are */
	unsigned int unused;	/* bits above the counter's */
};

#define CLOCK_SAMPLES 16

/* The line, and how it follows what is measured. */
struct clock_fit {
	struct clock_map map;
	uint64_t nominal; /* the device's nominal rate */
	struct {
		uint64_t ticks, ns; /* the counter without its wrap */
	} sample[CLOCK_SAMPLES];
	unsigned int n_samples; /* ever taken */
	unsigned int steps;	/* how often the counter was not where it should have been */
};

/* d * rate >> 32 without loss, d signed. */
static inline int64_t clock_scale(int64_t d, uint64_t rate)
{
#ifdef __SIZEOF_INT128__
	return (int64_t)((__int128)d * (int64_t)rate >> 32);
#else
	uint64_t u = d < 0 ? -(uint64_t)d : (uint64_t)d, ns;

	ns = (u >> 32) * rate + ((u & 0xffffffff) * (rate >> 32)) +
	     ((u & 0xffffffff) * (rate & 0xffffffff) >> 32);
	return d < 0 ? -(int64_t)ns : (int64_t)ns;
#endif
}

static inline int64_t clock_ticks_since(
	const struct clock_map *m, const struct clock_line *line, uint64_t ticks)
{
	return (int64_t)((ticks - line->ticks) << m->unused) >> m->unused;
}

/* The line that holds where the newest one does not. */
const struct clock_line *clock_older_line(const struct clock_map *m, uint64_t ticks);

/* Ticks at most half the counter's range away from the newest line's beginning. */
static inline uint64_t clock_map_ns(const struct clock_map *m, uint64_t ticks)
{
	const struct clock_line *line = &m->line[m->newest];
	int64_t d = clock_ticks_since(m, line, ticks);

	if (__builtin_expect(d < 0, 0)) {
		line = clock_older_line(m, ticks);
		d = clock_ticks_since(m, line, ticks);
	}
	return line->ns + (uint64_t)clock_scale(d, line->rate);
}

/* A counter with this mask (2^n - 1) and a nominal rate of khz. */
void clock_fit_init(struct clock_fit *f, uint64_t mask, uint64_t khz);
/*
 * A sample: the counter was `ticks` when the host's clock was ns; ns only grows. The line continues
 * where it was and is bent to meet the host's clock one `interval` later. It is bent a moment from
 * now, so that every queue has the new line before frames of that moment come. It jumps when it was
 * not measured for several intervals, or when the counter is not where any drift could have led it.
 */
void clock_fit_sample(struct clock_fit *f, uint64_t ticks, uint64_t ns, uint64_t interval);

#define CLOCK_AGREE_NS 5000000 /* two synchronized clocks differ by less */

#endif
