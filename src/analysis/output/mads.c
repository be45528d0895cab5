/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of management datagrams, as text and as JSON. */
#include "layout.h"
#include "output.h"
#include <inttypes.h>
#include <rdmadump/json.h>

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

static void put_row(struct grid *g, const struct rd_mad_row *row)
{
	char name[NAME_LEN], frames[RD_UNITS_LEN];

	name_text(name, row);
	grid_put(g, "%s", name);
	grid_put(g, "%s", rd_fmt_count(frames, row->frames.count));
	if (row->asks) {
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
	struct grid g = {.column = columns, .n_columns = RD_COUNT(columns)};
	size_t most = style->verbose ? r->n_mads : ROWS_SHOWN;

	/* Messages of the CM are in every capture with connections, and part of those. */
	if (!r->n_mads ||
		(!style->verbose && !RD_ANY(m, r->mads, r->n_mads, m->class != RD_MAD_CM)))
		return;
	most = RD_MIN(most, r->n_mads);
	for (size_t i = 0; i < most; i++)
		put_row(&g, &r->mads[i]);
	fputc('\n', out);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
	if (most < r->n_mads)
		fprintf(out, "%zu more row%s\n", r->n_mads - most,
			r->n_mads - most == 1 ? ": -v shows it" : "s: -v shows them");
	if (r->mads_left_out)
		fprintf(out, "%" PRIu64 " frame%s in no row: the table is full\n", r->mads_left_out,
			rd_plural(r->mads_left_out));
}

#define RD_THIS struct rd_mad_row
static json_t *name(const struct rd_at *at)
{
	const struct rd_mad_row *row = at->object;
	const char *const names[] = {rd_mad_class_name(row->class), rd_mad_method_name(row->method),
		rd_mad_attribute_name(row->class, row->attribute),
		rd_mad_status_name(row->class, row->status)};

	return rd_json_string(names[at->which]);
}

const struct rd_shape mad_shape = RD_SHAPE("mad",
	"Management datagrams (MADs) of one class, method, attribute and status.",
	RD_SAME(UINT, class), RD_SAME(UINT, method), RD_SAME(UINT, attribute),
	{"class_name", "null: unknown", RD_MADE(name, RD_TYPE_TEXT_OR)},
	{"method_name", NULL, RD_MADE(name, RD_TYPE_TEXT_OR), .which = 1},
	{"attribute_name", NULL, RD_MADE(name, RD_TYPE_TEXT_OR), .which = 2},
	{"status",
		"of responses, without the direction bit of directed SMPs; 0: no error, or no "
		"response",
		RD_UINT(status)},
	{"status_name", "null: no error, or unknown", RD_MADE(name, RD_TYPE_TEXT_OR), .which = 3},
	{"frames", NULL, RD_UINT(frames.count)}, {"first_frame", NULL, RD_UINT(frames.first_frame)},
	{"last_frame", NULL, RD_UINT(frames.last_frame)},
	{"repeated",
		"frames with the transaction ID of a request that had no response yet; null in "
		"this and the following three: no response has to follow",
		RD_UINT(repeated), RD_IF(asks)},
	{"answered", "requests with a response", RD_UINT(answered), RD_IF(asks)},
	{"unanswered",
		"requests that were repeated without a response, or waited for more than a second "
		"at the end",
		RD_UINT(unanswered.count), RD_IF(asks)},
	{"unjudged", "requests of the last second, and those that the analysis had no room for",
		RD_UINT(unjudged), RD_IF(asks)});
