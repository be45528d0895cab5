/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The offset of two clocks, from packets captured at both ends: the shortest distances of each
 * direction bound it, as in NTP (RFC 5905).
 */
#include "ends.h"
#include <math.h>

#define WINDOW_NS      250000000U
#define FIRST_WIDTH_NS 1000000U
#define DRIFT_SLOTS    4U /* with both directions, for a drift */

static const struct extremes nothing = {INT64_MAX, INT64_MIN};

static void widen(struct extremes *e, int64_t distance)
{
	if (distance < e->min)
		e->min = distance;
	if (distance > e->max)
		e->max = distance;
}

static void merge(struct extremes *e, const struct extremes *other)
{
	if (other->min < e->min)
		e->min = other->min;
	if (other->max > e->max)
		e->max = other->max;
}

static void halve(struct distances *d)
{
	for (unsigned int i = 0; i < CLOCK_SLOTS; i++) {
		struct extremes e = nothing;

		if (2 * i < CLOCK_SLOTS) {
			merge(&e, &d->slots[2 * i]);
			merge(&e, &d->slots[2 * i + 1]);
		}
		d->slots[i] = e;
	}
	d->width *= 2;
	d->used = (d->used + 1) / 2;
}

static void begin(struct distances *d)
{
	d->width = FIRST_WIDTH_NS;
	d->now = d->before = nothing;
	for (unsigned int i = 0; i < CLOCK_SLOTS; i++)
		d->slots[i] = nothing;
}

bool distances_add(struct distances *d, uint64_t t, int64_t distance, const uint64_t frame[RD_TAPS])
{
	struct extremes near;
	uint64_t above, below;

	if (!d->n++)
		begin(d);
	d->sum += (double)distance;
	while (t / d->width >= CLOCK_SLOTS)
		halve(d);
	widen(&d->slots[t / d->width], distance);
	if (t / d->width >= d->used)
		d->used = (unsigned int)(t / d->width) + 1;

	if (t / WINDOW_NS != d->window) {
		d->before = t / WINDOW_NS == d->window + 1 ? d->now : nothing;
		d->now = nothing;
		d->window = t / WINDOW_NS;
	}
	widen(&d->now, distance);
	near = d->now;
	merge(&near, &d->before);
	above = (uint64_t)(distance - near.min);
	below = (uint64_t)(near.max - distance);
	if (above > (d->above ? d->above->max : 0))
		d->above_frame = frame[RD_TAP_B];
	if (below > (d->below ? d->below->max : 0))
		d->below_frame = frame[RD_TAP_A];
	return hist_add(&d->above, above) && hist_add(&d->below, below);
}

/* Makes the slots of both equally wide; returns their width. */
static uint64_t align(struct distances *a, struct distances *b)
{
	while (a->width < b->width)
		halve(a);
	while (b->width < a->width)
		halve(b);
	return a->width;
}

/* Clamped: with invalid timestamps the line may be far away. */
static int64_t nanoseconds(double ns)
{
	if (ns >= (double)RD_ENDS_TIME_MAX)
		return RD_ENDS_TIME_MAX;
	return ns > -(double)RD_ENDS_TIME_MAX ? (int64_t)ns : -RD_ENDS_TIME_MAX;
}

/* Least squares through the middles of the shortest distances of both directions. */
void distances_clock(
	const struct distances *out, const struct distances *back, struct rd_ends_report *r)
{
	struct distances x = *out, y = *back;
	double sum_t = 0, sum_m = 0, sum_tt = 0, sum_tm = 0, n = 0, slope, error = -1;
	double width = (double)align(&x, &y), first = -1, last = 0, spread = 0;

	for (unsigned int i = 0; i < CLOCK_SLOTS; i++) {
		double t = (i + 0.5) * width, low, high, middle;

		if (x.slots[i].min > x.slots[i].max || y.slots[i].min > y.slots[i].max)
			continue;
		low = (double)y.slots[i].max;
		high = (double)x.slots[i].min;
		middle = (low + high) / 2;
		if (error < 0 || (high - low) / 2 < error)
			error = (high - low) / 2;
		spread += (high - low) / 2;
		first = first < 0 ? t : first;
		last = t;
		n++;
		sum_t += t;
		sum_m += middle;
		sum_tt += t * t;
		sum_tm += t * middle;
	}
	if (n < 1)
		return;
	slope = n > 1 ? (n * sum_tm - sum_t * sum_m) / (n * sum_tt - sum_t * sum_t) : 0;
	/* The error at the ends of the line must be small compared with the drift between them. */
	r->drift_known = n >= DRIFT_SLOTS && fabs(slope) * (last - first) > 2 * spread / n;
	r->drift_ppm = r->drift_known ? slope * 1e6 : 0;
	r->offset_known = true;
	r->offset_ns = nanoseconds((sum_m - (r->drift_known ? slope * sum_t : 0)) / n);
	r->offset_error_ns = error > 0 ? (uint64_t)error : 0;
}
