/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections, by messages of the CM. */
#ifndef RDMADUMP_ANALYSIS_CM_H
#define RDMADUMP_ANALYSIS_CM_H

#include "flow.h"

void cm_message(struct rd_analysis *a, struct flow *f, const struct item *it);

#endif
