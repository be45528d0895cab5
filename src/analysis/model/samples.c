/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Durations whose percentiles are exact as long as memory allows. */
#include "app.h"
#include <stdlib.h>

#define FIRST_CAPACITY 16

bool samples_add(struct samples *s, uint64_t ns, uint32_t *budget)
{
	if (s->kept == s->capacity) {
		uint32_t more = s->capacity ? s->capacity : FIRST_CAPACITY;
		uint64_t *all = *budget < more || s->rest
					? NULL
					: reallocarray(s->all, s->capacity + more, sizeof(*all));

		if (!all) {
			if (!hist_add(&s->rest, ns))
				return false;
			s->n++;
			s->sum += ns;
			return true;
		}
		s->all = all;
		s->capacity += more;
		*budget -= more;
	}
	s->all[s->kept++] = ns;
	s->n++;
	s->sum += ns;
	return true;
}

bool samples_join(struct samples *to, const struct samples *from)
{
	if (from->kept > to->capacity - to->kept) {
		uint32_t need = to->kept + from->kept;
		uint32_t capacity = to->capacity * 2 > need ? to->capacity * 2 : need;
		uint64_t *all = reallocarray(to->all, capacity, sizeof(*all));

		if (!all)
			return false;
		to->all = all;
		to->capacity = capacity;
	}
	if (from->kept)
		memcpy(to->all + to->kept, from->all, from->kept * sizeof(*from->all));
	to->kept += from->kept;
	to->n += from->n;
	to->sum += from->sum;
	return !from->rest || hist_join(&to->rest, from->rest);
}

/* The value that `part` percent of the samples do not exceed. */
static uint64_t percentile(const uint64_t *sorted, uint32_t n, unsigned int part)
{
	return sorted[((uint64_t)n * part + 99) / 100 - 1];
}

static bool mixed_result(const struct samples *s, struct rd_latency *out)
{
	struct hist *all = NULL;
	bool done = hist_join(&all, s->rest);

	for (uint32_t i = 0; i < s->kept && done; i++)
		done = hist_add(&all, s->all[i]);
	*out = hist_result(all);
	free(all);
	return done;
}

bool samples_result(const struct samples *s, struct rd_latency *out, bool *exact)
{
	uint64_t *sorted;

	*out = (struct rd_latency){0};
	*exact = !s->rest;
	if (s->rest)
		return mixed_result(s, out);
	if (!s->kept)
		return true;
	sorted = reallocarray(NULL, s->kept, sizeof(*sorted));
	if (!sorted)
		return false;
	memcpy(sorted, s->all, s->kept * sizeof(*sorted));
	qsort(sorted, s->kept, sizeof(*sorted), rd_order_u64);
	*out = (struct rd_latency){.n = s->kept,
		.min = sorted[0],
		.p50 = percentile(sorted, s->kept, 50),
		.p90 = percentile(sorted, s->kept, 90),
		.p99 = percentile(sorted, s->kept, 99),
		.max = sorted[s->kept - 1]};
	free(sorted);
	return true;
}

void samples_free(struct samples *s)
{
	free(s->all);
	free(s->rest);
	*s = (struct samples){0};
}
