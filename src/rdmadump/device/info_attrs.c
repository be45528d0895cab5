/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of a device, as lines and as JSON. */
#include "info.h"

/* Zeros and empty lists are shown with -v only. */
void rd_info_print_attrs(const struct info_output *t, const struct rd_attrs *attrs)
{
	for (size_t i = 0; i < attrs->n; i++) {
		const struct rd_attr *f = &attrs->attr[i];
		bool empty = f->kind != RD_ATTR_TEXT && !f->number;
		char text[sizeof(f->text) + 24] = "";
		json_t *value = NULL;

		switch (f->kind) {
		case RD_ATTR_TEXT:
			snprintf(text, sizeof(text), "%s", f->text);
			value = json_string(f->text);
			break;
		case RD_ATTR_NUMBER:
			snprintf(text, sizeof(text), "%ju", (uintmax_t)f->number);
			value = rd_json_u64(f->number);
			break;
		case RD_ATTR_HEX:
			snprintf(text, sizeof(text), "0x%jx", (uintmax_t)f->number);
			value = json_string(text);
			break;
		case RD_ATTR_WORDS:
			snprintf(text, sizeof(text), "%s", *f->text ? f->text : "none");
			value = json_string(f->text);
			break;
		}
		rd_sheet_value(t->sheet, f->key, f->title, value, t->verbose || !empty ? text : "");
	}
}
