/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the makers of a report share. */
#ifndef RDMADUMP_ANALYSIS_REPORT_H
#define RDMADUMP_ANALYSIS_REPORT_H

#include "state.h"

/* An address of a flow as people write it. */
void address_text(char out[RD_ADDRESS_LEN], unsigned int net, const uint8_t *address);

/* An empty series with the points that the grid has used. False for want of memory. */
bool points_init(struct rd_series *s, const struct grid *g);
/* Adds a row of the grid. */
void points_add(struct rd_series *s, const struct rd_point *row);

/* Compares what a device counted with what its packets show. -1 for want of memory. */
int facts_check(const struct rd_analysis *a, struct rd_report *r);

/* Runs all rules over the report (findings.c). -1 for want of memory. */
int findings_make(const struct rd_analysis *a, struct rd_report *r);

#endif
