/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arrays: how many elements, the search for one, orders for qsort(); the lesser of two numbers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RD_COUNT(array) (sizeof(array) / sizeof(*(array)))

/* The first of n elements for which `test`, which calls it *it, holds; NULL: there is none. */
#define RD_FIND(it, array, n, test)                                                                \
	({                                                                                         \
		__typeof__(&*(array)) it = (array);                                                \
		size_t it##_left = (n);                                                            \
                                                                                                   \
		while (it##_left && !(test))                                                       \
			it++, it##_left--;                                                         \
		it##_left ? it : NULL;                                                             \
	})
/* Whether there is one. */
#define RD_ANY(it, array, n, test) (RD_FIND(it, array, n, test) != NULL)

/* The lesser first. Joined by `?:`, each decides only where those before it find no difference. */
#define RD_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#define RD_MIN(a, b) ((a) < (b) ? (a) : (b))
#define RD_MAX(a, b) ((a) > (b) ? (a) : (b))

static inline int rd_order_u64(const void *x, const void *y)
{
	return RD_ORDER(*(const uint64_t *)x, *(const uint64_t *)y);
}
