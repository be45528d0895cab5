/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which flows are a pair. */
#ifndef RDMADUMP_ANALYSIS_PAIR_H
#define RDMADUMP_ANALYSIS_PAIR_H

#include "flow.h"

struct link_pair;

void pair_init(struct rd_analysis *a);
void pair_request(struct rd_analysis *a, struct flow *f, uint32_t psn);
void pair_response(struct rd_analysis *a, struct flow *f, uint32_t psn);
/*
 * Pairs a flow without a peer by a PSN that its NAK requests, if only one flow has sent to that
 * address.
 */
void pair_nak(struct rd_analysis *a, struct flow *f, uint32_t psn);
void pair_new_flow(struct rd_analysis *a, struct flow *f);
void pair_link(struct rd_analysis *a, const struct link_pair *link);
/* The link of a flow; NULL: none. */
const struct link_pair *pair_link_of(const struct rd_analysis *a, const struct flow *f);

#endif
