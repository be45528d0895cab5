/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lost frames in the report. */
#ifndef RDMADUMP_CLI_LOSS_H
#define RDMADUMP_CLI_LOSS_H

#include "capture.h"
#include <jansson.h>

/*
 * Prints which buffer to enlarge, one line for each ring that was full; nothing if the loss is
 * small.
 */
void loss_advise(const struct capture_run *r);
/* The loss of all sources, and of one source. frames and percent are null, with a reason, if they
 * are unknown. */
json_t *loss_json(const struct capture_run *r);
json_t *loss_json_source(const struct capture_run *r, const struct rd_session_source *source);
/* Prints what the loss counters include, and which other counters changed. */
void loss_text(const struct capture_run *r);

#endif
