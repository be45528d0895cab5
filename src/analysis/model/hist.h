/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histograms of times. */
#pragma once

#include <rdmadump/application.h>

/* Four steps per power of two, from 64 ns to half a minute. */
#define HIST_STEPS 120

/* Stores only the range of steps that have samples. */
struct hist {
	uint64_t n, min, max;
	uint32_t first, steps; /* number of the first step, how many there are */
	uint32_t counts[];
};

/* Adds a sample; allocates or enlarges *h (NULL at first), for free(). False if out of memory. */
bool hist_add(struct hist **h, uint64_t ns);
/* Adds all samples of `from`, which has some. False if out of memory. */
bool hist_join(struct hist **to, const struct hist *from);
struct rd_latency hist_result(const struct hist *h);
