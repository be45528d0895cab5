/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the frames of a flow are captured. */
#ifndef RDMADUMP_ANALYSIS_PLACE_H
#define RDMADUMP_ANALYSIS_PLACE_H

#include "flow.h"

/* A frame from a place other than the flow's: true if it is ignored (place.c). */
bool place_leaves(struct rd_analysis *a, struct flow *f, const struct item *it);
/*
 * Sets the place of a new flow: that of other flows of its hosts, if their packets are at several
 * places.
 */
void place_new(struct rd_analysis *a, struct flow *f);

#endif
