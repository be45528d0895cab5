/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Management datagrams. */
#ifndef RDMADUMP_ANALYSIS_MAD_H
#define RDMADUMP_ANALYSIS_MAD_H

#include "flow.h"

struct mads;

/* Counts a MAD (mad.c). */
void mad_free(struct mads *mads);
void mad_take(struct rd_analysis *a, const struct item *it);
/* Of InfiniBand: SMPs use a separate virtual lane (VL15), and do not belong to a QP. */
bool mad_is_smp(const struct rd_packet *p);
void mad_take_smp(struct rd_analysis *a, const struct item *it);
/* Fills the table of a report; false if out of memory. */
bool mad_rows(const struct rd_analysis *a, struct rd_report *r);

/* A message of the CM: connections (cm.c). */
void cm_message(struct rd_analysis *a, struct flow *f, const struct item *it);

#endif
