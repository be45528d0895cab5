/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of making a report. */
#ifndef RDMADUMP_ANALYSIS_REPORT_H
#define RDMADUMP_ANALYSIS_REPORT_H

#include "../model/state.h"

/* Compares what a device counted with what its packets show. -1 if out of memory. */
int comparisons_make(const struct rd_analysis *a, struct rd_report *r);

#endif
