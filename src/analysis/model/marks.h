/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each frame is counted as (rd_analysis_config.marks). */
#ifndef RDMADUMP_ANALYSIS_MARKS_H
#define RDMADUMP_ANALYSIS_MARKS_H

#include "state.h"

/* The current frame is counted as this; most kinds are not about one frame, and do nothing. */
void mark_incident(struct rd_analysis *a, const struct flow *f, enum rd_incident_kind kind);
/* READ responses are missing just before the current frame. */
void mark_response_gap(struct rd_analysis *a, const struct flow *f);
/* The current frame is late, unless those after it show that a round began with it. */
void mark_late(struct rd_analysis *a, const struct flow *f);
/* These frames began a round. */
void mark_late_again(struct rd_analysis *a, const struct flow *f);
/* The first frame of the last round was late; this was just counted at the current frame. */
void mark_first_was_late(struct rd_analysis *a, const struct flow *f);

#endif
