/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of management datagrams, as text and as JSON. */
#include "layout.h"
#include "output.h"
#include <inttypes.h>
#include <rdmadump/json.h>
#include <rdmadump/units.h>
#include <string.h>

#define ROWS_SHOWN 8 /* on one screen */
#define NAME_LEN   160

static void name_text(char name[NAME_LEN], const struct rd_mad_row *row)
{
	const char *cause = rd_mad_status_name(row->class, row->status);
	char text[96];

	rd_mad_text(text, sizeof(text), row->class, row->method, row->attribute);
	if (row->status)
		snprintf(name, NAME_LEN, "%s: status 0x%04x%s%s%s", text, row->status,
			cause ? " (" : "", cause ? cause : "", cause ? ")" : "");
	else
		snprintf(name, NAME_LEN, "%s", text);
}

/* Messages of the CM are in every capture with connections, and part of those. */
static bool is_worth_a_table(const struct rd_report *r)
{
	for (size_t i = 0; i < r->n_mads; i++)
		if (r->mads[i].class != RD_MAD_CM)
			return true;
	return false;
}

static void put_row(struct grid *g, const struct rd_mad_row *row)
{
	char name[NAME_LEN], frames[RD_UNITS_LEN];

	name_text(name, row);
	grid_put(g, "%s", name);
	grid_put(g, "%s", rd_fmt_count(frames, row->frames.count));
	if (rd_mad_expects_response(row->method)) {
		grid_put(g, "%" PRIu64, row->repeated);
		grid_put(g, "%" PRIu64, row->unanswered.count);
	} else {
		grid_put(g, "-");
		grid_put(g, "-");
	}
}

void mads_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	static const struct grid_column columns[] = {{"MANAGEMENT DATAGRAMS", true, 0},
		{"FRAMES", false, 0}, {"REPEATED", false, 0}, {"NO RESPONSE", false, 0}};
	struct grid g = {.column = columns, .n_columns = sizeof(columns) / sizeof(*columns)};
	size_t most = style->verbose ? r->n_mads : ROWS_SHOWN;

	if (!r->n_mads || (!style->verbose && !is_worth_a_table(r)))
		return;
	if (most > r->n_mads)
		most = r->n_mads;
	for (size_t i = 0; i < most; i++)
		put_row(&g, &r->mads[i]);
	fputc('\n', out);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
	if (most < r->n_mads)
		fprintf(out, "%zu more row%s\n", r->n_mads - most,
			r->n_mads - most == 1 ? ": -v shows it" : "s: -v shows them");
	if (r->mads_left_out)
		fprintf(out, "%" PRIu64 " frames are in no row: the table is full\n",
			r->mads_left_out);
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

json_t *mads_json(const struct rd_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_mads; i++) {
		const struct rd_mad_row *row = &r->mads[i];
		bool request = rd_mad_expects_response(row->method);
		json_t *o = json_object();

		set(o, "class", rd_json_u64(row->class));
		set(o, "method", rd_json_u64(row->method));
		set(o, "attribute", rd_json_u64(row->attribute));
		set(o, "class_name", rd_json_string(rd_mad_class_name(row->class)));
		set(o, "method_name", rd_json_string(rd_mad_method_name(row->method)));
		set(o, "attribute_name",
			rd_json_string(rd_mad_attribute_name(row->class, row->attribute)));
		set(o, "status", rd_json_u64(row->status));
		set(o, "status_name", rd_json_string(rd_mad_status_name(row->class, row->status)));
		set(o, "frames", rd_json_u64(row->frames.count));
		set(o, "first_frame", rd_json_u64(row->frames.first_frame));
		set(o, "last_frame", rd_json_u64(row->frames.last_frame));
		set(o, "repeated", request ? rd_json_u64(row->repeated) : json_null());
		set(o, "answered", request ? rd_json_u64(row->answered) : json_null());
		set(o, "unanswered", request ? rd_json_u64(row->unanswered.count) : json_null());
		set(o, "unjudged", request ? rd_json_u64(row->unjudged) : json_null());
		json_array_append_new(list, o);
	}
	return list;
}
