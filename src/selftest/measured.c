/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sorts measurements. */
#include "measured.h"
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

uint64_t spread_median(uint64_t *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), ascending);
	return values[n / 2];
}

uint64_t measured(struct rd_probe_result *r, const char *name, uint64_t *values, unsigned int n)
{
	uint64_t median = spread_median(values, n);

	result_json(r, name,
		json_pack("{s:I, s:I, s:I}", "least", (json_int_t)values[0], "median",
			(json_int_t)median, "most", (json_int_t)values[n - 1]));
	return median;
}
