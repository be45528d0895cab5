/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selects which parts of a report are in a page of limited size. */
#ifndef RDMADUMP_ANALYSIS_SELECTION_H
#define RDMADUMP_ANALYSIS_SELECTION_H

#include "output.h"

enum selected { SELECTED_NOT, SELECTED_NUMBERS, SELECTED_WHOLE /* with its series */ };

struct selection {
	size_t findings;	/* the first ones */
	uint8_t *conversations; /* enum selected, by index */
	bool intervals;
	size_t rows; /* of tables, not in the frame */
};

/* The bytes of a value and a comma in a page. SIZE_MAX if out of memory, or for NULL. */
size_t page_bytes(const json_t *value, size_t flags);
/*
 * Removes from the frame of the report the rows of tables that are too long; then chooses findings
 * and conversations, so that the JSON of all has at most `bytes`: the worst findings, then the
 * conversations that have findings, then the busiest. False if out of memory. Freed by
 * selection_free().
 */
bool selection_make(
	struct selection *s, const struct rd_report *r, json_t *frame, size_t flags, size_t bytes);
void selection_free(struct selection *s);
/* What was left out, as "left_out" of docs/schema/analyze.json; NULL: nothing, or out of memory. */
json_t *selection_left_out(const struct selection *s, const struct rd_report *r);

#endif
