/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hosts and pairs of hosts of a report, from the model. */
#ifndef RDMADUMP_ANALYSIS_HOSTS_H
#define RDMADUMP_ANALYSIS_HOSTS_H

#include <rdmadump/analysis.h>

/* Counts all frames of QPs, whether or not the report shows them. -1 if out of memory. */
int hosts_make(const struct rd_analysis *a, struct rd_hosts *hosts);
void hosts_free(struct rd_hosts *hosts);

#endif
