/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of a report that other files make. */
#ifndef RDMADUMP_ANALYSIS_REPORT_H
#define RDMADUMP_ANALYSIS_REPORT_H

#include "../model/state.h"

/* Compares counters of devices with their packets. -1 if out of memory. */
int comparisons_make(const struct rd_analysis *a, struct rd_report *r);
/* Adds findings about the growth of counters. -1 if out of memory. */
int readings_judge(const struct rd_analysis *a, struct rd_report *r);
/* Corrects what the packets of conversations seem to show. */
void readings_correct(const struct rd_analysis *a, struct rd_report *r);
/* The priorities that settings in the file lead to, in all sides of conversations. */
void classes_fill(const struct rd_analysis *a, struct rd_report *r);

#endif
