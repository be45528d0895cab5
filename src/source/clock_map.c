/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ticks of a free-running counter <-> nanoseconds of the host's clock, which it drifts against. */
#include "verbs_clock.h"

#define SECOND	   1000000000
#define DRIFT_MAX  2000	    /* ppm: no oscillator of a network adapter is so wrong */
#define BEND_MAX   500	    /* ppm: the largest change of the rate to return to the host's clock */
#define STEP_MIN   1000000  /* ns: more is corrected by a jump */
#define WINDOW_MIN 20000000 /* ns: a rate measured over less is worse than the nominal one */
#define DECADE	   (10ULL * 365 * 86400 * SECOND)
#define STEP_PAST  SECOND /* ns: age of frames since the counter jumped, at most */
#define LEAP_MAX   60	  /* seconds between TAI and UTC, and some to come */

static int64_t clamp(int64_t v, int64_t most)
{
	return v > most ? most : v < -most ? -most : v;
}

const struct clock_line *clock_older_line(const struct clock_map *m, uint64_t ticks)
{
	const struct clock_line *line = &m->line[m->newest];

	for (unsigned int back = 1; back < m->n; back++) {
		line = &m->line[(m->newest - back) % CLOCK_LINES];
		if (clock_ticks_since(m, line, ticks) >= 0)
			break;
	}
	return line;
}

static void add_line(struct clock_map *m, const struct clock_line *line)
{
	m->newest = m->n ? (m->newest + 1) % CLOCK_LINES : 0;
	m->line[m->newest] = *line;
	m->n += m->n < CLOCK_LINES;
}

void clock_fit_init(struct clock_fit *f, uint64_t mask, uint64_t khz)
{
	*f = (struct clock_fit){.nominal = ((uint64_t)1000000 << 32) / khz};
	f->map.unused = mask ? (unsigned int)__builtin_clzll(mask) : 0;
}

static const uint64_t *newest(const struct clock_fit *f, const uint64_t **ns)
{
	unsigned int i = (f->n_samples - 1) % CLOCK_SAMPLES;

	*ns = &f->sample[i].ns;
	return &f->sample[i].ticks;
}

/* The value of the counter if it did not wrap: the one nearest to the expected value. */
static uint64_t unwrap(const struct clock_fit *f, uint64_t ticks, uint64_t ns)
{
	const uint64_t *last_ns, *last = newest(f, &last_ns);
	uint64_t expected =
		*last + (uint64_t)((double)(ns - *last_ns) * 4294967296.0 / (double)f->nominal);

	return expected +
	       (uint64_t)((int64_t)((ticks - expected) << f->map.unused) >> f->map.unused);
}

/* The rate over all samples; the nominal one while they span too little, or if implausible. */
static uint64_t measured_rate(const struct clock_fit *f)
{
	unsigned int n = f->n_samples < CLOCK_SAMPLES ? f->n_samples : CLOCK_SAMPLES;
	unsigned int oldest = (f->n_samples - n) % CLOCK_SAMPLES;
	const uint64_t *last_ns, *last = newest(f, &last_ns);
	uint64_t ns = *last_ns - f->sample[oldest].ns, ticks = *last - f->sample[oldest].ticks;
	double rate, most = (double)f->nominal * DRIFT_MAX / 1e6;

	if (ns < WINDOW_MIN || !ticks)
		return f->nominal;
	rate = (double)ns / (double)ticks * 4294967296.0;
	if (rate > (double)f->nominal + most || rate < (double)f->nominal - most)
		return f->nominal;
	return (uint64_t)rate;
}

/* Without the wrap: the newest line, however long ago it began. */
static uint64_t clock_line_ns(const struct clock_fit *f, uint64_t whole)
{
	const struct clock_line *line = &f->map.line[f->map.newest];

	return line->ns + (uint64_t)clock_scale((int64_t)(whole - line->ticks), line->rate);
}

static void remember(struct clock_fit *f, uint64_t ticks, uint64_t ns)
{
	unsigned int i = f->n_samples++ % CLOCK_SAMPLES;

	f->sample[i].ticks = ticks;
	f->sample[i].ns = ns;
}

static uint64_t to_ticks(const struct clock_fit *f, uint64_t ns)
{
	return (uint64_t)((double)ns * 4294967296.0 / (double)f->nominal);
}

/* Earlier samples no longer show the rate. The new line covers the last `past` ns too. */
static void start_over(struct clock_fit *f, uint64_t ticks, uint64_t ns, uint64_t past)
{
	uint64_t back = to_ticks(f, past),
		 before = (uint64_t)clock_scale((int64_t)back, f->nominal);

	f->n_samples = 0;
	remember(f, ticks, ns);
	add_line(&f->map, &(struct clock_line){ticks - back, ns - before, f->nominal});
}

/* The last sample is too old to continue the line. Frames may be as old as half of that. */
static void resume(struct clock_fit *f, uint64_t ticks, uint64_t ns, uint64_t past)
{
	uint64_t rate = measured_rate(f), back = to_ticks(f, past / 2 < SECOND ? past / 2 : SECOND);

	add_line(&f->map, &(struct clock_line){ticks - back,
				  ns - (uint64_t)clock_scale((int64_t)back, rate), rate});
}

static void bend(struct clock_fit *f, uint64_t ticks, uint64_t ns, uint64_t interval)
{
	uint64_t at = ticks + to_ticks(f, CLOCK_AHEAD_NS), line = clock_map_ns(&f->map, at);
	uint64_t rate = measured_rate(f);
	int64_t ppm = clamp(
		(int64_t)(ns + CLOCK_AHEAD_NS - line) * 1000000 / (int64_t)interval, BEND_MAX);

	rate += (uint64_t)((int64_t)(rate / 1000000) * ppm);
	add_line(&f->map, &(struct clock_line){at, line, rate});
}

void clock_fit_sample(struct clock_fit *f, uint64_t ticks, uint64_t ns, uint64_t interval)
{
	const uint64_t *last_ns;
	uint64_t past, whole;
	int64_t off;

	if (!f->n_samples) {
		start_over(f, ticks, ns, 0);
		return;
	}
	newest(f, &last_ns);
	past = ns - *last_ns;
	if (!past)
		return;
	whole = unwrap(f, ticks, ns);
	off = (int64_t)(ns - clock_line_ns(f, whole));
	if (off > STEP_MIN + (int64_t)(past / 1000000 * DRIFT_MAX) ||
		off < -STEP_MIN - (int64_t)(past / 1000000 * DRIFT_MAX)) {
		f->steps++;
		start_over(f, ticks, ns, past < STEP_PAST ? past : STEP_PAST);
		return;
	}
	remember(f, whole, ns);
	if (past > 4 * interval || off > STEP_MIN || off < -STEP_MIN)
		resume(f, whole, ns, past);
	else
		bend(f, whole, ns, interval);
}

uint64_t rd_clock_real_time_ns(uint64_t stamp, uint64_t now)
{
	uint64_t split = (stamp >> 32) * SECOND + (stamp & 0xffffffff);
	uint64_t apart = stamp > now ? stamp - now : now - stamp;

	return (stamp & 0xffffffff) < SECOND && apart > DECADE ? split : stamp;
}

int64_t rd_clock_epoch_offset(int64_t difference, bool *set)
{
	int64_t half = difference < 0 ? -SECOND / 2 : SECOND / 2;
	int64_t seconds = (difference + half) / SECOND, rest = difference - seconds * SECOND;

	*set = seconds >= -LEAP_MAX && seconds <= LEAP_MAX && rest <= CLOCK_AGREE_NS &&
	       rest >= -CLOCK_AGREE_NS;
	return *set ? seconds * SECOND : difference;
}
