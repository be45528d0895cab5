/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames that are not RoCE, and those that are not decoded. */
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

#endif
