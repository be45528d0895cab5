/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Ticks of a free-running counter <-> nanoseconds of the host's clock, which it drifts against. */
#include "clock_map.h"

#define SECOND	      1000000000
#define DRIFT_MOST    2000	/* ppm: no oscillator of a network adapter is so wrong */
#define BEND_MOST     500	/* ppm that the line is bent by to come back to the host's clock */
#define STEP_LEAST    1000000	/* ns: what bending would take too long for */
#define WINDOW_LEAST  20000000	/* ns: a rate measured over less is worse than what is claimed */
#define AGREE_MOST    SECOND	/* between clocks that show the same, the way of a frame included */
#define FRACTION_MOST 100000000 /* ns: of a clock that is off by whole seconds */
#define LEAP_MOST     60	/* seconds between TAI and UTC, and some to come */

static int64_t clamp(int64_t v, int64_t most)
{
	return v > most ? most : v < -most ? -most : v;
}

void clock_fit_init(struct clock_fit *f, uint64_t mask, uint64_t khz)
{
	*f = (struct clock_fit){.nominal = ((uint64_t)1000000 << 32) / khz};
	f->map.rate = f->nominal;
	f->map.unused = mask ? (unsigned int)__builtin_clzll(mask) : 0;
}

static const uint64_t *newest(const struct clock_fit *f, const uint64_t **ns)
{
	unsigned int i = (f->n_samples - 1) % CLOCK_SAMPLES;

	*ns = &f->sample[i].ns;
	return &f->sample[i].ticks;
}

/* Where the counter would stand had it no end: nearest to where it should be by now. */
static uint64_t unwrap(const struct clock_fit *f, uint64_t ticks, uint64_t ns)
{
	const uint64_t *last_ns, *last = newest(f, &last_ns);
	uint64_t expected =
		*last + (uint64_t)((double)(ns - *last_ns) * 4294967296.0 / (double)f->nominal);

	return expected +
	       (uint64_t)((int64_t)((ticks - expected) << f->map.unused) >> f->map.unused);
}

/* Over all that is remembered; what is claimed while that is too little, or makes no sense. */
static uint64_t measured_rate(const struct clock_fit *f)
{
	unsigned int n = f->n_samples < CLOCK_SAMPLES ? f->n_samples : CLOCK_SAMPLES;
	unsigned int oldest = (f->n_samples - n) % CLOCK_SAMPLES;
	const uint64_t *last_ns, *last = newest(f, &last_ns);
	uint64_t ns = *last_ns - f->sample[oldest].ns, ticks = *last - f->sample[oldest].ticks;
	double rate, most = (double)f->nominal * DRIFT_MOST / 1e6;

	if (ns < WINDOW_LEAST || !ticks)
		return f->nominal;
	rate = (double)ns / (double)ticks * 4294967296.0;
	if (rate > (double)f->nominal + most || rate < (double)f->nominal - most)
		return f->nominal;
	return (uint64_t)rate;
}

static void remember(struct clock_fit *f, uint64_t ticks, uint64_t ns)
{
	unsigned int i = f->n_samples++ % CLOCK_SAMPLES;

	f->sample[i].ticks = ticks;
	f->sample[i].ns = ns;
}

/* What was measured before tells nothing of the rate any more. */
static void start_over(struct clock_fit *f, uint64_t ticks, uint64_t ns)
{
	f->n_samples = 0;
	remember(f, ticks, ns);
	f->map.ticks = ticks;
	f->map.ns = ns;
	f->map.rate = f->nominal;
}

void clock_fit_sample(struct clock_fit *f, uint64_t ticks, uint64_t ns, uint64_t interval)
{
	const uint64_t *last_ns;
	uint64_t line, past, whole;
	int64_t off, ppm;

	if (!f->n_samples) {
		start_over(f, ticks, ns);
		return;
	}
	newest(f, &last_ns);
	past = ns - *last_ns;
	if (!past)
		return;
	whole = unwrap(f, ticks, ns);
	line = f->map.ns + (uint64_t)clock_scale((int64_t)(whole - f->map.ticks), f->map.rate);
	off = (int64_t)(ns - line);
	if (off > STEP_LEAST + (int64_t)(past / 1000000 * DRIFT_MOST) ||
		off < -STEP_LEAST - (int64_t)(past / 1000000 * DRIFT_MOST)) {
		f->steps++;
		start_over(f, ticks, ns);
		return;
	}
	remember(f, whole, ns);
	f->map.ticks = whole;
	f->map.rate = measured_rate(f);
	if (past > 4 * interval || off > STEP_LEAST || off < -STEP_LEAST) {
		f->map.ns = ns;
		return;
	}
	ppm = clamp(off * 1000000 / (int64_t)interval, BEND_MOST);
	f->map.ns = line;
	f->map.rate += (uint64_t)((int64_t)(f->map.rate / 1000000) * ppm);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

uint64_t clock_real_time_ns(uint64_t stamp, uint64_t now)
{
	uint64_t split = (stamp >> 32) * SECOND + (stamp & 0xffffffff);

	return (stamp & 0xffffffff) < SECOND && apart(split, now) < apart(stamp, now) ? split
										      : stamp;
}

int64_t clock_epoch_offset(uint64_t device, uint64_t host, bool *set)
{
	int64_t d = (int64_t)(host - device), seconds, rest;

	*set = true;
	if (apart(device, host) < AGREE_MOST)
		return 0;
	seconds = (d + (d < 0 ? -SECOND / 2 : SECOND / 2)) / SECOND;
	rest = d - seconds * SECOND;
	if (seconds >= -LEAP_MOST && seconds <= LEAP_MOST && rest < FRACTION_MOST &&
		rest > -FRACTION_MOST)
		return seconds * SECOND;
	*set = false;
	return d;
}
