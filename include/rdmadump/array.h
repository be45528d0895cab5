/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The number of elements of an array, and the search for one of them. */
#pragma once

#include <stddef.h>

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
