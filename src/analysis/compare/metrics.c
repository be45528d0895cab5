/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The values that are compared, and from which difference on they count as changed. */
#include "compare.h"
#include <math.h>
#include <string.h>

#define RATE_STEP    0.10 /* of the larger rate: less differs between any two runs */
#define TIME_STEP    0.25 /* of the shorter time: percentiles are from steps a quarter octave wide */
#define SHARE_STEP   1.5  /* times as large */
#define SHARE_EVENTS 10	  /* events that the larger share needs, unless the other one is 0 */

/* A share is `value` of `of`; a time is `value`, measured `of` times, at least `samples`. */
static const struct row {
	struct metric metric;
	size_t value, of;
	uint64_t samples;
} rows[METRICS] = {
#define AT(member)		      offsetof(struct numbers, member)
#define RATE(id, k, text, value)      [METRIC_##id] = {{text, UNIT_RATE}, AT(value), 0, 0},
#define SHARE(id, k, text, value, of) [METRIC_##id] = {{text, UNIT_SHARE}, AT(value), AT(of), 0},
#define TIME(id, k, text, i, part, samples)                                                        \
	[METRIC_##id] = {{text, UNIT_TIME}, AT(latency[i].part), AT(latency[i].n), samples},
	METRIC_ROWS(RATE, SHARE, TIME)
#undef RATE
#undef SHARE
#undef TIME
};

const struct metric *metric_of(unsigned int i)
{
	return &rows[i].metric;
}

static uint64_t field(const struct numbers *n, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)n + offset, sizeof(value));
	return value;
}

/* NaN: unknown. */
static double value_of(const struct row *row, const struct numbers *n)
{
	const double value = (double)field(n, row->value);
	double of;

	if (!n->qps || (n->part && row->metric.unit == UNIT_RATE))
		return NAN;
	if (row->metric.unit == UNIT_RATE)
		return n->last_ns > n->first_ns ? value * 8e9 / (double)(n->last_ns - n->first_ns)
						: NAN;
	of = (double)field(n, row->of);
	if (!(of > 0))
		return NAN;
	return row->metric.unit == UNIT_SHARE ? 100 * value / of : value;
}

static double larger_of(double a, double b)
{
	return a > b ? a : b;
}

static double smaller_of(double a, double b)
{
	return a < b ? a : b;
}

static bool is_other_rate(double before, double after)
{
	return fabs(after - before) > RATE_STEP * larger_of(before, after);
}

static bool is_other_share(double before, double after, uint64_t events)
{
	if (before <= 0 || after <= 0)
		return before > 0 || after > 0;
	return larger_of(before, after) > SHARE_STEP * smaller_of(before, after) &&
	       events >= SHARE_EVENTS;
}

static bool is_other_time(double before, double after)
{
	return fabs(after - before) > TIME_STEP * smaller_of(before, after);
}

static bool is_changed(const struct row *row, const struct value *v, const struct numbers *before,
	const struct numbers *after)
{
	uint64_t larger;

	switch (row->metric.unit) {
	case UNIT_RATE:
		return is_other_rate(v->before, v->after);
	case UNIT_SHARE:
		larger = field(v->after > v->before ? after : before, row->value);
		return is_other_share(v->before, v->after, larger);
	case UNIT_TIME:
	default:
		return is_other_time(v->before, v->after);
	}
}

struct value metric_value(unsigned int i, const struct numbers *before, const struct numbers *after)
{
	const struct row *row = &rows[i];
	struct value v = {.before = value_of(row, before), .after = value_of(row, after)};

	if (isnan(v.before) || isnan(v.after) || !is_changed(row, &v, before, after))
		return v;
	v.few = field(before, row->of) < row->samples || field(after, row->of) < row->samples;
	if (v.few)
		return v;
	v.change = (row->metric.unit == UNIT_RATE) == (v.after > v.before) ? 1 : -1;
	return v;
}
