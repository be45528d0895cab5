/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Frames lost before they came to us, as reports tell of them. */
#ifndef RDMADUMP_CLI_LOSS_H
#define RDMADUMP_CLI_LOSS_H

#include "capture.h"

/* "by the device 12 (0.40 %; out_of_buffer)": what was lost, which part, by which counters. */
void loss_text(const struct session *s, char *out, size_t room);
/* Prints what to raise, a line for each ring that was full; nothing where little was lost. */
void loss_advise(const struct session *s);
/* Of all sources; of one. frames and percent are null, with a reason, where they are unknown. */
json_t *loss_json(const struct session *s);
json_t *loss_json_source(const struct session *s, unsigned int i);

#endif
