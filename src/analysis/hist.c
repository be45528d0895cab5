/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Histograms of durations: bounded, with steps that grow with the value. */
#include "state.h"

#define LOW	 6 /* log2 of the first step's start in ns */
#define PER_LOG2 4

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

void hist_add(struct hist *h, uint64_t ns)
{
	if (!h->n++ || ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
	h->steps[step_of(ns)]++;
}

/* The value that `part` of 100 do not exceed. */
static uint64_t percentile(const struct hist *h, unsigned int part)
{
	uint64_t rank = (h->n * part + 99) / 100, sum = 0, value = h->max;

	for (unsigned int i = 0; i < HIST_STEPS; i++) {
		uint64_t start = step_start(i), n = h->steps[i];

		if (sum + n >= rank && n) {
			value = start + (step_start(i + 1) - start) * (rank - sum) / n;
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
