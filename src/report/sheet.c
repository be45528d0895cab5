/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values written as text or JSON; lines of a section are aligned with each other. */
#include <rdmadump/array.h>
#include <rdmadump/json.h>
#include <rdmadump/memory.h>
#include <rdmadump/sheet.h>
#include <stdlib.h>
#include <string.h>

#define INDENT	  2
#define GAP	  2
#define ROOM_MIN  30 /* columns in which text is wrapped */
#define TITLE_MAX 44 /* longer titles do not push the values of others away */

void rd_sheet_open(struct rd_sheet *s, FILE *out, json_t *document)
{
	*s = (struct rd_sheet){.out = out};
	s->at[0] = document;
}

static void flush(struct rd_sheet *s)
{
	size_t width = 0;

	for (size_t i = 0; i < s->n_rows; i++) {
		size_t n = strlen(s->row[i].title);

		if (n > width && n <= TITLE_MAX)
			width = n;
	}
	for (size_t i = 0; i < s->n_rows; i++) {
		const size_t at = INDENT + RD_MAX(width, strlen(s->row[i].title)) + GAP;

		fprintf(s->out, "%*s%-*s%*s", INDENT, "", (int)width, s->row[i].title, GAP, "");
		rd_put_wrapped(s->out, s->row[i].text, at, at,
			s->width < at + ROOM_MIN ? SIZE_MAX : s->width);
		free(s->row[i].title);
		free(s->row[i].text);
	}
	free(s->row);
	s->row = NULL;
	s->n_rows = 0;
}

static void print_heading(struct rd_sheet *s)
{
	if (*s->heading)
		fprintf(s->out, "\n%s\n", s->heading);
	s->heading[0] = '\0';
}

void rd_sheet_row(struct rd_sheet *s, const char *title, const char *text)
{
	struct rd_sheet_row *row;

	if (!s->out || !*text)
		return;
	print_heading(s);
	row = rd_append(&s->row, s->n_rows, sizeof(*row));
	if (!row)
		return;
	row->title = strdup(title);
	row->text = strdup(text);
	if (row->title && row->text)
		s->n_rows++;
}

void rd_sheet_json(struct rd_sheet *s, const char *key, json_t *value)
{
	json_t *at = s->at[s->depth];

	if (json_is_array(at))
		json_array_append_new(at, value);
	else
		json_object_set_new(at, key, value);
}

static void enter(struct rd_sheet *s, const char *key, json_t *part)
{
	rd_sheet_json(s, key, part);
	if (s->depth + 1 < RD_SHEET_DEPTH)
		s->at[++s->depth] = part;
}

void rd_sheet_section(struct rd_sheet *s, const char *key, const char *heading)
{
	flush(s);
	if (s->out && *heading)
		snprintf(s->heading, sizeof(s->heading), "%s", heading);
	enter(s, key, json_object());
}

void rd_sheet_array(struct rd_sheet *s, const char *key)
{
	enter(s, key, json_array());
}

void rd_sheet_end(struct rd_sheet *s)
{
	flush(s);
	s->heading[0] = '\0';
	if (s->depth)
		s->depth--;
}

json_t *rd_sheet_close(struct rd_sheet *s)
{
	flush(s);
	return s->at[0];
}

void rd_sheet_value(
	struct rd_sheet *s, const char *key, const char *title, json_t *value, const char *text)
{
	rd_sheet_json(s, key, value);
	rd_sheet_row(s, title, text);
}

void rd_sheet_text(struct rd_sheet *s, const char *key, const char *title, const char *text)
{
	rd_sheet_value(s, key, title, *text ? rd_json_string(text) : json_null(), text);
}

void rd_sheet_number(struct rd_sheet *s, const char *key, const char *title, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%ju", (uintmax_t)n);
	rd_sheet_value(s, key, title, rd_json_u64(n), text);
}

void rd_sheet_table(struct rd_sheet *s, const char *const *columns, unsigned int n)
{
	flush(s);
	s->columns = columns;
	s->n_columns = n < RD_SHEET_COLUMNS ? n : RD_SHEET_COLUMNS;
}

void rd_sheet_cell(struct rd_sheet *s, const char *text)
{
	char **cell = s->out ? rd_append(&s->cell, s->n_cells, sizeof(*cell)) : NULL;

	if (cell && (*cell = strdup(*text ? text : "-")))
		s->n_cells++;
}

static void print_cells(const struct rd_sheet *s, const char *const *cell, const size_t *width)
{
	const char *text = cell[s->n_columns - 1];
	const size_t terminal = s->alone && s->width ? s->width : SIZE_MAX;
	size_t at = s->alone ? 0 : INDENT;

	fprintf(s->out, "%*s", (int)at, "");
	for (unsigned int c = 0; c + 1 < s->n_columns; c++) {
		fprintf(s->out, "%*s%-*s", c ? GAP : 0, "", (int)width[c], cell[c]);
		at += width[c] + GAP;
	}
	if (at + ROOM_MIN <= terminal || at + strlen(text) <= terminal) {
		fprintf(s->out, "%*s", GAP, "");
		rd_put_wrapped(s->out, text, at, at, terminal);
	} else {
		/* Too narrow for a column of text: it goes below, across the line. */
		fprintf(s->out, "\n%*s", GAP, "");
		rd_put_wrapped(s->out, text, GAP, GAP, RD_MAX(terminal, (size_t)ROOM_MIN));
	}
}

void rd_sheet_table_end(struct rd_sheet *s)
{
	size_t width[RD_SHEET_COLUMNS] = {0}, rows = s->n_columns ? s->n_cells / s->n_columns : 0;

	for (unsigned int c = 0; c < s->n_columns; c++) {
		width[c] = strlen(s->columns[c]);
		for (size_t r = 0; r < rows; r++)
			width[c] = RD_MAX(width[c], strlen(s->cell[r * s->n_columns + c]));
	}
	if (rows) {
		print_heading(s);
		print_cells(s, s->columns, width);
	}
	for (size_t r = 0; r < rows; r++)
		print_cells(s, (const char *const *)s->cell + r * s->n_columns, width);
	for (size_t i = 0; i < s->n_cells; i++)
		free(s->cell[i]);
	free(s->cell);
	s->cell = NULL;
	s->n_cells = 0;
}
