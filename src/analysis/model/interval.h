/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of --interval. */
#ifndef RDMADUMP_ANALYSIS_INTERVAL_H
#define RDMADUMP_ANALYSIS_INTERVAL_H

#include <rdmadump/analysis.h>

struct intervals;

/* NULL if out of memory. */
struct intervals *intervals_open(uint64_t width_ns);
void intervals_free(struct intervals *v);
/* Makes ns the current time, before the frame of that time is counted in the totals. */
void intervals_move(struct rd_analysis *a, uint64_t ns);
/* Counts incidents at the current time; kinds that intervals do not have are ignored. */
void intervals_incident(struct intervals *v, enum rd_incident_kind kind, uint64_t n);
/* Takes back the last incident of this kind, which was counted in error. */
void intervals_take_back(struct intervals *v, enum rd_incident_kind kind);
/* Moves the intervals, of which there are no more. */
void intervals_take(struct rd_intervals *to, struct intervals *v, const struct rd_totals *t);

#endif
