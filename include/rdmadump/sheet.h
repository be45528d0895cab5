/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes values in two forms: as aligned lines and tables for users, and as JSON for programs.
 * Empty values are left out of the text, and are null in JSON.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RD_SHEET_DEPTH	 8
#define RD_SHEET_COLUMNS 16

struct rd_sheet_row {
	char *title, *text;
};

struct rd_sheet {
	FILE *out;    /* stream for the text; NULL: only the JSON is built */
	size_t width; /* columns in which values are wrapped; 0: they are not */
	json_t *at[RD_SHEET_DEPTH];
	unsigned int depth;
	char heading[128]; /* printed with the section's first line */
	struct rd_sheet_row *row;
	size_t n_rows;
	bool alone; /* a table alone: at the margin, with its last column wrapped */
	/* The table being filled. */
	const char *const *columns;
	unsigned int n_columns;
	char **cell;
	size_t n_cells;
};

/*
 * Where a line breaks that begins in column `at`: how many bytes of the text belong on it, at least
 * a word; *next: where the next line starts.
 */
size_t rd_break(const char *text, size_t at, size_t columns, size_t *next);
/* Text that begins in column `at`, in lines each but the first of which begins in column `hang`. */
void rd_put_wrapped(FILE *out, const char *text, size_t at, size_t hang, size_t columns);

/* `document` is what the JSON is added to, from now on the sheet's. */
void rd_sheet_open(struct rd_sheet *s, FILE *out, json_t *document);
/* Writes the lines that are left; returns the JSON, which the caller owns. */
json_t *rd_sheet_close(struct rd_sheet *s);

/* A part with a heading; sections may hold sections. `key` NULL: an element of an array. */
void rd_sheet_section(struct rd_sheet *s, const char *key, const char *heading);
void rd_sheet_array(struct rd_sheet *s, const char *key);
void rd_sheet_end(struct rd_sheet *s);

void rd_sheet_text(struct rd_sheet *s, const char *key, const char *title, const char *text);
void rd_sheet_number(struct rd_sheet *s, const char *key, const char *title, uint64_t n);
/* For the text only; for the JSON only (`value` is consumed). */
void rd_sheet_row(struct rd_sheet *s, const char *title, const char *text);
void rd_sheet_json(struct rd_sheet *s, const char *key, json_t *value);
/* `value` is consumed; `text` is shown to users, "" shows nothing. */
void rd_sheet_value(
	struct rd_sheet *s, const char *key, const char *title, json_t *value, const char *text);

/* A table of text only; its JSON is given by rd_sheet_json(). */
void rd_sheet_table(struct rd_sheet *s, const char *const *columns, unsigned int n);
void rd_sheet_cell(struct rd_sheet *s, const char *text);
void rd_sheet_table_end(struct rd_sheet *s);
