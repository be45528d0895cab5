/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of a report is in a page of limited size. */
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

/* The bytes that a value and a comma have in a page. SIZE_MAX if out of memory, or for NULL. */
size_t page_bytes(const json_t *value, size_t flags);
/*
 * Removes from the frame of the report what is too long of its tables; then chooses findings and
 * conversations, so that the JSON of all has at most `bytes`: the worst findings, then the
 * conversations that have findings, then the busiest. False if out of memory. Freed by
 * selection_free().
 */
bool selection_make(
	struct selection *s, const struct rd_report *r, json_t *frame, size_t flags, size_t bytes);
void selection_free(struct selection *s);
/* What is not in it, as "left_out" of docs/schema/analyze.json; NULL: nothing, or no memory. */
json_t *selection_left_out(const struct selection *s, const struct rd_report *r);

#endif
