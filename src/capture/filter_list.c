/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Comma-separated lists, in which terms of a filter are given. */
#include "filter_terms.h"

const char *rd_list_next(const char **list, size_t *length)
{
	const char *entry = *list;

	if (!entry)
		return NULL;
	*length = strcspn(entry, ",");
	*list = entry[*length] ? entry + *length + 1 : NULL;
	return entry;
}

unsigned int rd_list_length(const char *list)
{
	unsigned int n = 1;

	for (; *list; list++)
		n += *list == ',';
	return n;
}
