/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sentences of the verdict. */
#ifndef RDMADUMP_ANALYSIS_WORDS_H
#define RDMADUMP_ANALYSIS_WORDS_H

#include "verdict.h"

/* Sets the texts of report->verdict; g: its main group, or NULL. -1 if out of memory. */
int words_make(struct rd_report *r, const struct rd_group *g);

#endif
