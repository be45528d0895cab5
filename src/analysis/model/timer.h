/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The waits of a requester that repeats from one PSN and gets no response. */
#ifndef RDMADUMP_ANALYSIS_MODEL_TIMER_H
#define RDMADUMP_ANALYSIS_MODEL_TIMER_H

#include <rdmadump/analysis.h>

#define WAITS 24 /* a ConnectX repeats up to 11 times adaptively, and then 7 times */

/* Microseconds before each of successive rounds from a PSN that no NAK caused. */
struct waits {
	uint8_t n;
	uint32_t us[WAITS];
};

enum { WAITS_NOW, WAITS_MOST, WAITS_KINDS };

/* UINT32_MAX: or longer. */
uint32_t wait_us(uint64_t ns);
/* All zero: no schedule that is known explains them. */
struct rd_timer waits_explain(const struct waits *w);

#endif
