/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PSNs over time. */
#ifndef RDMADUMP_ANALYSIS_PSN_PLOT_H
#define RDMADUMP_ANALYSIS_PSN_PLOT_H

#include "flow.h"

struct psn_plots;

/* NULL if out of memory. */
struct psn_plots *psn_plots_open(void);
void psn_plots_free(struct psn_plots *plots);
/* Sets the current frame, before the two functions below are called. */
void psn_plots_incident(struct rd_analysis *a, enum rd_incident_kind kind);
/* A request of `f`, and a response to requests of `r`, after they were judged. */
void psn_plots_request(struct rd_analysis *a, struct flow *f, const struct item *it, uint32_t span);
void psn_plots_response(struct rd_analysis *a, struct flow *r, const struct item *it);
/* Sets *to, which the caller frees, if the flow has a plot. False if out of memory. */
bool psn_plot_copy(struct rd_psn_plot **to, const struct psn_plots *plots, const struct flow *f);

#endif
