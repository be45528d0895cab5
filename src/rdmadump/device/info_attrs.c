/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of a device, as lines and as JSON. */
#include "info.h"

/* Zeros and empty lists are shown with -v only. */
void rd_info_print_attrs(const struct info_output *t, const struct rd_attrs *attrs)
{
	for (size_t i = 0; i < attrs->n; i++) {
		const struct rd_attr *f = &attrs->attr[i];

		rd_sheet_value(t->sheet, f->key, f->title, json_incref(f->value),
			t->verbose || !f->empty ? f->text : "");
	}
}
