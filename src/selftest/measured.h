/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Minimum, median and maximum of repeated measurements. */
#ifndef RDMADUMP_SELFTEST_MEASURED_H
#define RDMADUMP_SELFTEST_MEASURED_H

#include "selftest.h"

/* Sorts the values and returns their median; n: at least 1. */
uint64_t spread_median(uint64_t *values, unsigned int n);
/* Adds them as the value `name` and returns the median. Sorts the values; n: at least 1. */
uint64_t measured(struct rd_probe_result *r, const char *name, uint64_t *values, unsigned int n);

#endif
