/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the firmware's responses to queries, and how it refused others. */
#include "info.h"
#include "refusal.h"
#include <stdio.h>

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
