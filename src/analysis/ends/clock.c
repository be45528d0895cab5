/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The offset of two clocks, from packets captured at both ends. No packet arrives before it was
 * sent: each distance of a packet from A is an upper bound of the offset at its time, and each one
 * of a packet from B a lower bound. What all lines between these bounds have in common is known,
 * whatever the delays were.
 */
#include "ends.h"
#include <math.h>

#define WINDOW_NS      250000000U
#define FIRST_WIDTH_NS 1000000U
#define DRIFT_MAX      (RD_ENDS_DRIFT_MAX / 1e6)
#define DRIFT_STEPS    64

static const struct extremes nothing = {INT64_MAX, INT64_MIN, 0, 0};

static bool is_empty(const struct extremes *e)
{
	return e->min > e->max;
}

static void merge(struct extremes *e, const struct extremes *other)
{
	if (other->min < e->min) {
		e->min = other->min;
		e->min_t = other->min_t;
	}
	if (other->max > e->max) {
		e->max = other->max;
		e->max_t = other->max_t;
	}
}

static void halve(struct extremes *slots)
{
	for (unsigned int i = 0; i < CLOCK_SLOTS; i++) {
		struct extremes e = nothing;

		if (2 * i < CLOCK_SLOTS) {
			merge(&e, &slots[2 * i]);
			merge(&e, &slots[2 * i + 1]);
		}
		slots[i] = e;
	}
}

static void clear(struct extremes *slots)
{
	for (unsigned int i = 0; i < CLOCK_SLOTS; i++)
		slots[i] = nothing;
}

static void window_add(struct distances *d, uint64_t t, const struct extremes *one)
{
	if (t / WINDOW_NS > d->window) {
		d->before = t / WINDOW_NS == d->window + 1 ? d->now : nothing;
		d->now = nothing;
		d->window = t / WINDOW_NS;
	}
	merge(&d->now, one);
}

bool distances_recent(const struct distances *d, struct extremes *out)
{
	*out = nothing;
	if (!d->n)
		return false;
	*out = d->now;
	merge(out, &d->before);
	return !is_empty(out);
}

/* Counts one that becomes long; up to half as long it is the same one. */
static bool delay_add(struct delays *d, uint64_t ns, uint64_t frame)
{
	d->rises += !d->late && ns >= RD_ENDS_LATE_NS;
	d->late = ns >= (d->late ? RD_ENDS_LATE_NS / 2 : RD_ENDS_LATE_NS);
	if (ns > (d->hist ? d->hist->max : 0))
		d->frame = frame;
	return hist_add(&d->hist, ns);
}

bool distances_add(struct distances *d, int64_t t, int64_t distance, const uint64_t frame[RD_TAPS])
{
	const struct extremes one = {distance, distance, t, t};
	const uint64_t at = t > 0 ? (uint64_t)t : 0;
	struct extremes near;

	if (!d->n++) {
		d->width = FIRST_WIDTH_NS;
		d->now = d->before = nothing;
		clear(d->slots);
	}
	for (; at / d->width >= CLOCK_SLOTS; d->width *= 2)
		halve(d->slots);
	window_add(d, at, &one);
	if (!frame)
		return true;
	merge(&d->slots[at / d->width], &one);
	distances_recent(d, &near);
	return delay_add(&d->delays[RD_TAP_A], (uint64_t)(distance - near.min), frame[RD_TAP_B]) &&
	       delay_add(&d->delays[RD_TAP_B], (uint64_t)(near.max - distance), frame[RD_TAP_A]);
}

void clock_add(struct clock_bounds *c, const struct distances *d, enum rd_tap sender)
{
	struct extremes *into = sender == RD_TAP_A ? c->upper : c->lower;
	struct distances x = *d;

	if (!d->n)
		return;
	if (!c->width) {
		c->width = d->width;
		clear(c->upper);
		clear(c->lower);
	}
	for (; x.width < c->width; x.width *= 2)
		halve(x.slots);
	for (; c->width < x.width; c->width *= 2) {
		halve(c->upper);
		halve(c->lower);
	}
	for (unsigned int i = 0; i < CLOCK_SLOTS; i++)
		merge(&into[i], &x.slots[i]);
}

/* The slopes that a line between the bounds may have; false: there is none. */
static bool slopes(const struct clock_bounds *c, double slack, double *least, double *most)
{
	*least = -DRIFT_MAX;
	*most = DRIFT_MAX;
	for (unsigned int i = 0; i < CLOCK_SLOTS; i++)
		for (unsigned int k = 0; k < CLOCK_SLOTS; k++) {
			const struct extremes *u = &c->upper[i], *l = &c->lower[k];
			double t, capacity;

			if (is_empty(u) || is_empty(l))
				continue;
			t = (double)(u->min_t - l->max_t);
			capacity = (double)u->min - (double)l->max + slack;
			if (t > 0)
				*most = RD_MIN(*most, capacity / t);
			else if (t < 0)
				*least = RD_MAX(*least, capacity / t);
			else if (capacity < 0)
				return false;
		}
	return *least <= *most;
}

/* The offsets at time 0 of the lines with this slope. */
static void offsets(const struct clock_bounds *c, double slope, double *least, double *most)
{
	*least = -INFINITY;
	*most = INFINITY;
	for (unsigned int i = 0; i < CLOCK_SLOTS; i++) {
		const struct extremes *u = &c->upper[i], *l = &c->lower[i];

		if (!is_empty(u))
			*most = RD_MIN(*most, (double)u->min - slope * (double)u->min_t);
		if (!is_empty(l))
			*least = RD_MAX(*least, (double)l->max - slope * (double)l->max_t);
	}
}

/* Clamped: with invalid timestamps the line may be far away. */
static int64_t nanoseconds(double ns)
{
	if (ns >= (double)RD_ENDS_TIME_MAX)
		return RD_ENDS_TIME_MAX;
	return ns > -(double)RD_ENDS_TIME_MAX ? (int64_t)ns : -RD_ENDS_TIME_MAX;
}

static bool both_ways(const struct clock_bounds *c)
{
	bool up = false, down = false;

	for (unsigned int i = 0; c->width && i < CLOCK_SLOTS; i++) {
		up |= !is_empty(&c->upper[i]);
		down |= !is_empty(&c->lower[i]);
	}
	return up && down;
}

void clock_result(const struct clock_bounds *c, uint64_t resolution, struct rd_ends_report *r)
{
	const double slack = (double)resolution;
	double least, most, low = INFINITY, high = -INFINITY, error;

	if (!both_ways(c))
		return;
	r->both_ways = true;
	if (!slopes(c, slack, &least, &most))
		return;
	for (int i = 0; i <= DRIFT_STEPS; i++) {
		double from, to;

		offsets(c, least + (most - least) * i / DRIFT_STEPS, &from, &to);
		low = RD_MIN(low, from - slack);
		high = RD_MAX(high, to + slack);
	}
	error = (most - least) / 2 * 1e6;
	r->drift_ppm = (least + most) / 2 * 1e6;
	r->drift_known = error <= 1 || error <= fabs(r->drift_ppm) / 10;
	r->drift_error_ppm = error;
	if (!r->drift_known)
		r->drift_ppm = 0;
	r->offset_known = true;
	r->offset_ns = nanoseconds((low + high) / 2);
	r->offset_error_ns = (uint64_t)nanoseconds(RD_MAX((high - low) / 2, 0)) + 1;
}
