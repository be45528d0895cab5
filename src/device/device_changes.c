/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Joins the reports of several channels into one, by counting them. */
#include "device_changes.h"
#include <rdmadump/memory.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 4096 /* names that one monitor tracks; beyond that it starts again */

struct device_change_row {
	enum device_change_kind kind;
	char name[RD_NAME_MAX];
	unsigned int reported, by[N_CHANNELS];
};

static struct device_change_row *row_of(
	struct device_changes *changes, const struct device_change *change)
{
	struct device_change_row *row;

	for (size_t i = 0; i < changes->n; i++)
		if (changes->rows[i].kind == change->kind &&
			!strcmp(changes->rows[i].name, change->name))
			return &changes->rows[i];
	if (changes->n == ROWS_MAX)
		changes->n = 0;
	row = rd_append(&changes->rows, changes->n, sizeof(*row));
	if (!row)
		return NULL;
	changes->n++;
	row->kind = change->kind;
	memcpy(row->name, change->name, sizeof(row->name));
	return row;
}

bool device_change_is_new(struct device_changes *changes, const struct device_change *change)
{
	struct device_change_row *row = row_of(changes, change);

	if (!row)
		return false;
	/*
	 * A difference from the list exists now, so it is new, whatever the channels have reported.
	 */
	if (change->channel == CHANNEL_LIST) {
		row->reported++;
		return true;
	}
	if (++row->by[change->channel] <= row->reported)
		return false;
	row->reported = row->by[change->channel];
	return true;
}

void device_changes_free(struct device_changes *changes)
{
	free(changes->rows);
	*changes = (struct device_changes){0};
}
