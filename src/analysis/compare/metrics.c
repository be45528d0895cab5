/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The values that are compared, and from which difference on they count as changed. */
#include "compare.h"
#include <math.h>

#define RATE_STEP    0.10 /* of the larger rate: less differs between any two runs */
#define TIME_STEP    0.25 /* of the shorter time: percentiles are from steps a quarter octave wide */
#define SHARE_STEP   1.5  /* times as large */
#define SHARE_EVENTS 10	  /* events that the larger share needs, unless the other one is 0 */

const struct metric metrics[METRICS] = {
#define ROW(id, key, text, unit, ...) [METRIC_##id] = {text, UNIT_##unit, __VA_ARGS__},
	METRIC_ROWS(ROW)
#undef ROW
};

/* NaN: unknown. */
static double value_of(const struct metric *m, const struct item *x, bool part)
{
	const double value = (double)x->n[m->value], of = (double)x->n[m->of];

	if (!x->n[N_ITEMS] || (part && m->unit == UNIT_RATE))
		return NAN;
	if (m->unit == UNIT_RATE)
		return x->last_ns > x->first_ns ? value * 8e9 / (double)(x->last_ns - x->first_ns)
						: NAN;
	if (!(of > 0))
		return NAN;
	return m->unit == UNIT_SHARE ? 100 * value / of : value;
}

static bool is_other_rate(double before, double after)
{
	return fabs(after - before) > RATE_STEP * (before > after ? before : after);
}

static bool is_other_share(double before, double after, uint64_t events)
{
	if (before <= 0 || after <= 0)
		return before > 0 || after > 0;
	return (before > after ? before : after) > SHARE_STEP * (before < after ? before : after) &&
	       events >= SHARE_EVENTS;
}

static bool is_other_time(double before, double after)
{
	return fabs(after - before) > TIME_STEP * (before < after ? before : after);
}

static bool is_changed(const struct metric *m, const struct value *v, const struct change *c)
{
	switch (m->unit) {
	case UNIT_RATE:
		return is_other_rate(v->before, v->after);
	case UNIT_SHARE:
		return is_other_share(v->before, v->after,
			(v->after > v->before ? &c->after : &c->before)->n[m->value]);
	case UNIT_TIME:
	default:
		return is_other_time(v->before, v->after);
	}
}

struct value metric_value(unsigned int i, const struct change *c)
{
	const struct metric *m = &metrics[i];
	struct value v = {
		.before = value_of(m, &c->before, c->part), .after = value_of(m, &c->after, false)};

	if (isnan(v.before) || isnan(v.after) || !is_changed(m, &v, c))
		return v;
	v.few = c->before.n[m->of] < m->samples || c->after.n[m->of] < m->samples;
	if (!v.few)
		v.change = (m->unit == UNIT_RATE) == (v.after > v.before) ? 1 : -1;
	return v;
}
