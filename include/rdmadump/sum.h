/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of numbers from files, which may be any. */
#pragma once

#include <stdint.h>

/* Adds to *sum, which stops at its largest value. */
static inline void rd_sum_add(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}
