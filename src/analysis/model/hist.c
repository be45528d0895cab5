/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histograms of durations: bounded, with steps that grow with the value. */
#include "hist.h"
#include <stdlib.h>

#define LOW	     6 /* log2 of the first step's start in ns */
#define PER_LOG2     4
#define STEPS_GROWTH 8 /* steps that are allocated at once; divides HIST_STEPS */

static unsigned int step_of(uint64_t ns)
{
	unsigned int log2, step;

	if (ns < 1U << LOW)
		return 0;
	log2 = 63 - (unsigned int)__builtin_clzll(ns);
	step = (log2 - LOW) * PER_LOG2 + (unsigned int)(ns >> (log2 - 2) & 3);
	return step < HIST_STEPS ? step : HIST_STEPS - 1;
}

static uint64_t step_start(unsigned int step)
{
	return (uint64_t)(PER_LOG2 + step % PER_LOG2) << (LOW - 2 + step / PER_LOG2);
}

static uint32_t count_of(const struct hist *h, unsigned int i)
{
	const void *counts = h->counts;

	if (h->width == 1)
		return h->counts[i];
	return h->width == 2 ? ((const uint16_t *)counts)[i] : ((const uint32_t *)counts)[i];
}

static void count_set(struct hist *h, unsigned int i, uint32_t n)
{
	void *counts = h->counts;

	if (h->width == 1)
		h->counts[i] = (uint8_t)n;
	else if (h->width == 2)
		((uint16_t *)counts)[i] = (uint16_t)n;
	else
		((uint32_t *)counts)[i] = n;
}

/* Whether the count has its largest value. */
static bool is_full(const struct hist *h, unsigned int i)
{
	return h->width < 4 && count_of(h, i) == (1U << h->width * 8) - 1;
}

/* Reallocates it with room for this step and for one more sample of it. */
static bool make_room(struct hist **hist, unsigned int step)
{
	struct hist *old = *hist, *h;
	unsigned int first = step / STEPS_GROWTH * STEPS_GROWTH, end = first + STEPS_GROWTH,
		     width = 1;

	if (old) {
		bool inside = step - old->first < old->steps;

		if (old->first < first)
			first = old->first;
		if (old->first + old->steps > end)
			end = old->first + old->steps;
		width = inside && is_full(old, step - old->first) ? old->width * 2 : old->width;
	}
	h = calloc(1, sizeof(*h) + (size_t)(end - first) * width);
	if (!h)
		return false;
	if (old) { /* field by field: its padding is part of the counts */
		h->n = old->n;
		h->min = old->min;
		h->max = old->max;
	}
	h->first = (uint8_t)first;
	h->steps = (uint8_t)(end - first);
	h->width = (uint8_t)width;
	for (unsigned int i = 0; old && i < old->steps; i++)
		count_set(h, old->first + i - first, count_of(old, i));
	free(old);
	*hist = h;
	return true;
}

/* The histogram with room for one more sample of this step; NULL: out of memory. */
static struct hist *with_room(struct hist **hist, unsigned int step)
{
	struct hist *h = *hist;

	if ((!h || step - h->first >= h->steps || is_full(h, step - h->first)) &&
		!make_room(hist, step))
		return NULL;
	return *hist;
}

bool hist_add(struct hist **hist, uint64_t ns)
{
	unsigned int step = step_of(ns);
	struct hist *h = with_room(hist, step);

	if (!h)
		return false;
	if (!h->n++ || ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
	count_set(h, step - h->first, count_of(h, step - h->first) + 1);
	return true;
}

/* Adds n samples of a step. */
static bool add_many(struct hist **to, unsigned int step, uint32_t n)
{
	while (n) {
		struct hist *h = with_room(to, step);
		uint32_t count, left;

		if (!h)
			return false;
		count = count_of(h, step - h->first);
		left = (uint32_t)((UINT64_C(1) << h->width * 8) - 1) - count;
		if (!left)
			break;
		count_set(h, step - h->first, count + (n < left ? n : left));
		n -= n < left ? n : left;
	}
	return true;
}

bool hist_join(struct hist **to, const struct hist *from)
{
	for (unsigned int i = 0; i < from->steps; i++)
		if (!add_many(to, from->first + i, count_of(from, i)))
			return false;
	if (!(*to)->n || from->min < (*to)->min)
		(*to)->min = from->min;
	if (from->max > (*to)->max)
		(*to)->max = from->max;
	(*to)->n += from->n;
	return true;
}

/* The value that `part` percent of the samples do not exceed. */
static uint64_t percentile(const struct hist *h, unsigned int part)
{
	uint64_t rank = (h->n * part + 99) / 100, sum = 0, value = h->max;

	for (unsigned int i = 0; i < h->steps; i++) {
		uint64_t start = step_start(h->first + i), n = count_of(h, i);

		if (sum + n >= rank && n) {
			value = start + (step_start(h->first + i + 1) - start) * (rank - sum) / n;
			break;
		}
		sum += n;
	}
	if (value < h->min)
		return h->min;
	return value < h->max ? value : h->max;
}

struct rd_latency hist_result(const struct hist *h)
{
	if (!h || !h->n)
		return (struct rd_latency){0};
	return (struct rd_latency){.n = h->n,
		.min = h->min,
		.p50 = percentile(h, 50),
		.p90 = percentile(h, 90),
		.p99 = percentile(h, 99),
		.max = h->max};
}
