/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames that are left aside: not RoCE, not decoded, or captured at another place as well. */
#ifndef RDMADUMP_ANALYSIS_FOREIGN_H
#define RDMADUMP_ANALYSIS_FOREIGN_H

#include "flow.h"

/*
 * A packet without a valid ICRC: returns true if it is not RoCE, and counts it. If the QP has
 * packets with valid ICRCs, it is always RoCE (foreign.c).
 */
bool foreign_take(struct rd_analysis *a, const struct item *it);
/* Whether its headers are not those of RoCE, unless a valid ICRC proves that they are. */
bool foreign_may_be(const struct rd_packet *p);
/* Counts a frame that is not RDMA traffic, if its content is unknown. */
void unread_take(struct rd_analysis *a, const struct rd_packet *p);

/* A frame from a place other than the flow's: true if it is ignored (place.c). */
bool place_leaves(struct rd_analysis *a, struct flow *f, const struct item *it);
/*
 * Sets the place of a new flow: that of other flows of its hosts, if their packets are at several
 * places.
 */
void place_new(struct rd_analysis *a, struct flow *f);

#endif
