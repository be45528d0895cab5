/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of management datagrams, as text and as JSON. */
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

static void put_row(const struct rd_mad_row *row, int width, FILE *out)
{
	bool request = rd_mad_expects_response(row->method);
	char name[NAME_LEN], frames[RD_UNITS_LEN];

	name_text(name, row);
	fprintf(out, "%-*s %9s", width, name, rd_fmt_count(frames, row->frames.count));
	if (request)
		fprintf(out, " %9" PRIu64 " %12" PRIu64 "\n", row->repeated, row->unanswered.count);
	else
		fprintf(out, " %9s %12s\n", "-", "-");
}

void mads_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	size_t most = style->verbose ? r->n_mads : ROWS_SHOWN;
	int width = 0;

	if (!r->n_mads || (!style->verbose && !is_worth_a_table(r)))
		return;
	if (most > r->n_mads)
		most = r->n_mads;
	for (size_t i = 0; i < most; i++) {
		char name[NAME_LEN];

		name_text(name, &r->mads[i]);
		if ((int)strlen(name) > width)
			width = (int)strlen(name);
	}
	fprintf(out, "\n%-*s %9s %9s %12s\n", width, "MANAGEMENT DATAGRAMS", "FRAMES", "REPEATED",
		"NO RESPONSE");
	for (size_t i = 0; i < most; i++)
		put_row(&r->mads[i], width, out);
	if (most < r->n_mads)
		fprintf(out, "%zu more rows: -v shows them\n", r->n_mads - most);
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
