/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Facts told once, shown as text or JSON; lines of a section are aligned with each other. */
#include "sheet.h"
#include <rdmadump/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDENT	  2
#define TITLE_MAX 44 /* longer titles do not push the values of others away */

void sheet_open(struct sheet *s, bool text)
{
	*s = (struct sheet){.text = text};
	s->at[0] = json_object();
}

static void print_row(const struct sheet_row *row, size_t width)
{
	printf("%*s%-*s  %s\n", INDENT, "", (int)width, row->title, row->text);
}

static void flush(struct sheet *s)
{
	size_t width = 0;

	for (size_t i = 0; i < s->n_rows; i++) {
		size_t n = strlen(s->row[i].title);

		if (n > width && n <= TITLE_MAX)
			width = n;
	}
	for (size_t i = 0; i < s->n_rows; i++) {
		print_row(&s->row[i], width);
		free(s->row[i].title);
		free(s->row[i].text);
	}
	free(s->row);
	s->row = NULL;
	s->n_rows = 0;
}

static void print_heading(struct sheet *s)
{
	if (*s->heading)
		printf("\n%s\n", s->heading);
	s->heading[0] = '\0';
}

void sheet_row(struct sheet *s, const char *title, const char *text)
{
	struct sheet_row *grown;

	if (!s->text || !*text)
		return;
	print_heading(s);
	grown = reallocarray(s->row, s->n_rows + 1, sizeof(*grown));
	if (!grown)
		return;
	s->row = grown;
	s->row[s->n_rows].title = strdup(title);
	s->row[s->n_rows].text = strdup(text);
	if (s->row[s->n_rows].title && s->row[s->n_rows].text)
		s->n_rows++;
}

static void put(struct sheet *s, const char *key, json_t *value)
{
	json_t *at = s->at[s->depth];

	if (json_is_array(at))
		json_array_append_new(at, value);
	else
		json_object_set_new(at, key, value);
}

static void enter(struct sheet *s, const char *key, json_t *part)
{
	put(s, key, part);
	if (s->depth + 1 < SHEET_DEPTH)
		s->at[++s->depth] = part;
}

void sheet_section(struct sheet *s, const char *key, const char *heading)
{
	flush(s);
	if (s->text && *heading)
		snprintf(s->heading, sizeof(s->heading), "%s", heading);
	enter(s, key, json_object());
}

void sheet_array(struct sheet *s, const char *key)
{
	enter(s, key, json_array());
}

void sheet_end(struct sheet *s)
{
	flush(s);
	s->heading[0] = '\0';
	if (s->depth)
		s->depth--;
}

json_t *sheet_close(struct sheet *s)
{
	flush(s);
	return s->at[0];
}

void sheet_json(struct sheet *s, const char *key, json_t *value)
{
	put(s, key, value);
}

void sheet_value(
	struct sheet *s, const char *key, const char *title, json_t *value, const char *text)
{
	put(s, key, value);
	sheet_row(s, title, text);
}

void sheet_text(struct sheet *s, const char *key, const char *title, const char *text)
{
	sheet_value(s, key, title, *text ? rd_json_string(text) : json_null(), text);
}

void sheet_number(struct sheet *s, const char *key, const char *title, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%ju", (uintmax_t)n);
	sheet_value(s, key, title, rd_json_u64(n), text);
}

void sheet_table(struct sheet *s, const char *const *columns, unsigned int n)
{
	flush(s);
	s->columns = columns;
	s->n_columns = n < SHEET_COLUMNS ? n : SHEET_COLUMNS;
}

void sheet_cell(struct sheet *s, const char *text)
{
	char **grown;

	if (!s->text)
		return;
	grown = reallocarray(s->cell, s->n_cells + 1, sizeof(*grown));
	if (!grown)
		return;
	s->cell = grown;
	s->cell[s->n_cells] = strdup(*text ? text : "-");
	if (s->cell[s->n_cells])
		s->n_cells++;
}

static void print_cells(const char *const *cell, unsigned int n, const size_t *width)
{
	printf("%*s", INDENT, "");
	for (unsigned int c = 0; c < n; c++)
		printf("%-*s%s", c + 1 < n ? (int)width[c] : 0, cell[c], c + 1 < n ? "  " : "\n");
}

void sheet_table_end(struct sheet *s)
{
	size_t width[SHEET_COLUMNS] = {0}, rows = s->n_columns ? s->n_cells / s->n_columns : 0;

	for (unsigned int c = 0; c < s->n_columns; c++) {
		width[c] = strlen(s->columns[c]);
		for (size_t r = 0; r < rows; r++) {
			size_t n = strlen(s->cell[r * s->n_columns + c]);

			if (n > width[c])
				width[c] = n;
		}
	}
	if (rows) {
		print_heading(s);
		print_cells(s->columns, s->n_columns, width);
	}
	for (size_t r = 0; r < rows; r++)
		print_cells((const char *const *)s->cell + r * s->n_columns, s->n_columns, width);
	for (size_t i = 0; i < s->n_cells; i++)
		free(s->cell[i]);
	free(s->cell);
	s->cell = NULL;
	s->n_cells = 0;
}
