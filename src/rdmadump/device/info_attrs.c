/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of a device, as lines and as JSON; those of the firmware with how it refused others.
 */
#include "device_json.h"
#include "info.h"
#include <rdmadump/json.h>
#include <stdio.h>

/* Zeros and empty lists are shown with -v only. */
void rd_info_print_attrs(const struct info_output *t, const struct rd_attrs *attrs, bool show)
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
		rd_sheet_value(t->sheet, f->key, f->title, value,
			t->verbose || (show && !empty) ? text : "");
	}
}

static void print_command(const struct info_output *t, const struct rd_firmware_command *c)
{
	char text[RD_REFUSAL_LEN], heading[96];

	snprintf(heading, sizeof(heading), "Firmware: %s", c->meaning);
	rd_sheet_section(t->sheet, c->name, heading);
	rd_sheet_value(t->sheet, "refused", "refused", rd_json_refusal(&c->refusal),
		t->verbose ? rd_refusal_text(text, &c->refusal) : "");
	rd_sheet_section(t->sheet, "fields", "");
	rd_info_print_attrs(t, &c->attrs, false);
	rd_sheet_end(t->sheet);
	rd_sheet_end(t->sheet);
}

void rd_info_print_commands(const struct info_output *t)
{
	rd_sheet_section(t->sheet, "commands", "");
	for (size_t i = 0; i < t->info->n_commands; i++)
		print_command(t, &t->info->commands[i]);
	rd_sheet_end(t->sheet);
}
