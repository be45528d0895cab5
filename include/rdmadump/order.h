/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Orders for qsort(); the lesser and the greater of two. */
#pragma once

#include <stdint.h>

/* The lesser first. Joined by `?:`, each decides only where those before it find no difference. */
#define RD_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#define RD_MIN(a, b) ((a) < (b) ? (a) : (b))
#define RD_MAX(a, b) ((a) > (b) ? (a) : (b))

static inline int rd_order_u64(const void *x, const void *y)
{
	return RD_ORDER(*(const uint64_t *)x, *(const uint64_t *)y);
}
