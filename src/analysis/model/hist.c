/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histograms of durations: bounded, with steps that grow with the value. */
#include "hist.h"
#include <rdmadump/array.h>
#include <stdlib.h>
#include <string.h>

#define LOW	     6 /* log2 of the first step's start in ns */
#define PER_LOG2     4
#define STEPS_GROWTH 2 /* steps that are allocated at once; divides HIST_STEPS */

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

/* The histogram with room for samples of this step; NULL: out of memory. */
static struct hist *with_room(struct hist **hist, unsigned int step)
{
	struct hist *old = *hist, *h;
	unsigned int first = step / STEPS_GROWTH * STEPS_GROWTH, end = first + STEPS_GROWTH;

	if (old && step - old->first < old->steps)
		return old;
	if (old && old->first < first)
		first = old->first;
	if (old && old->first + old->steps > end)
		end = old->first + old->steps;
	h = calloc(1, sizeof(*h) + (end - first) * sizeof(*h->counts));
	if (!h)
		return NULL;
	if (old) {
		*h = *old;
		memcpy(h->counts + old->first - first, old->counts,
			old->steps * sizeof(*old->counts));
	}
	h->first = first;
	h->steps = end - first;
	free(old);
	*hist = h;
	return h;
}

bool hist_add(struct hist **hist, uint64_t ns)
{
	unsigned int step = step_of(ns);
	struct hist *h = with_room(hist, step);

	if (!h)
		return false;
	if (!h->n++ || ns < h->min)
		h->min = ns;
	h->max = RD_MAX(h->max, ns);
	h->counts[step - h->first]++;
	return true;
}

bool hist_join(struct hist **to, const struct hist *from)
{
	for (unsigned int i = 0; i < from->steps; i++) {
		struct hist *h;

		if (!from->counts[i])
			continue;
		h = with_room(to, from->first + i);
		if (!h)
			return false;
		h->counts[from->first + i - h->first] += from->counts[i];
	}
	if (!(*to)->n || from->min < (*to)->min)
		(*to)->min = from->min;
	(*to)->max = RD_MAX((*to)->max, from->max);
	(*to)->n += from->n;
	return true;
}

/* The value that `part` percent of the samples do not exceed. */
static uint64_t percentile(const struct hist *h, unsigned int part)
{
	uint64_t rank = (h->n * part + 99) / 100, sum = 0, value = h->max;

	for (unsigned int i = 0; i < h->steps; i++) {
		uint64_t start = step_start(h->first + i), n = h->counts[i];

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
