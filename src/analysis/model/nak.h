/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* NAKs to the requests of an RC sender (nak.c). */
#ifndef RDMADUMP_ANALYSIS_MODEL_NAK_H
#define RDMADUMP_ANALYSIS_MODEL_NAK_H

#include "state.h"

/*
 * A NAK p in flow `f` to the requests of flow `r`, which may be NULL; `value`: the code in its
 * syndrome.
 */
void nak_take(struct rd_analysis *a, struct flow *f, struct flow *r, const struct rd_packet *p,
	unsigned int value);
/* The same for an RNR NAK; `value`: the timer in its syndrome. */
void nak_not_ready(struct rd_analysis *a, struct flow *f, struct flow *r, const struct rd_packet *p,
	unsigned int value);

#endif
