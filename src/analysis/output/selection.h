/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What fits a page of limited size. */
#ifndef RDMADUMP_ANALYSIS_SELECTION_H
#define RDMADUMP_ANALYSIS_SELECTION_H

#include "output.h"

struct room {
	size_t flags, bytes; /* that are left, of JSON with these flags of jansson */
	bool no_memory;
};

/* False: the value does not fit, or no memory. NULL is no memory. */
bool room_spend(struct room *room, const json_t *value);
/* The same; consumes the value, and adds it if it fits. */
bool room_add(struct room *room, json_t *list, json_t *value);

#endif
