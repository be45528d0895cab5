/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Facts told once, shown twice: as aligned lines and tables for people, as JSON for programs. In
 * text, what is empty is left out; in JSON it is null.
 */
#ifndef RDMADUMP_SHEET_H
#define RDMADUMP_SHEET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHEET_DEPTH   8
#define SHEET_COLUMNS 12

struct sheet_row {
	char *title, *text;
};

struct sheet {
	bool text; /* print as people read; else only the JSON is built */
	json_t *at[SHEET_DEPTH];
	unsigned int depth;
	char heading[128]; /* printed with the section's first line */
	struct sheet_row *row;
	size_t n_rows;
	/* The table being filled. */
	const char *const *columns;
	unsigned int n_columns;
	char **cell;
	size_t n_cells;
};

void sheet_open(struct sheet *s, bool text);
/* The JSON, which the caller owns; what was still to be printed is. */
json_t *sheet_close(struct sheet *s);

/* A part with a heading; sections may hold sections. `key` NULL: an element of an array. */
void sheet_section(struct sheet *s, const char *key, const char *heading);
void sheet_array(struct sheet *s, const char *key);
void sheet_end(struct sheet *s);

void sheet_text(struct sheet *s, const char *key, const char *title, const char *text);
void sheet_number(struct sheet *s, const char *key, const char *title, uint64_t n);
/* For people only, for programs only (`value` is consumed). */
void sheet_row(struct sheet *s, const char *title, const char *text);
void sheet_json(struct sheet *s, const char *key, json_t *value);
/* `value` is consumed; `text` is what people see, "" nothing. */
void sheet_value(
	struct sheet *s, const char *key, const char *title, json_t *value, const char *text);

/* A table of text only; its JSON is given by sheet_json(). */
void sheet_table(struct sheet *s, const char *const *columns, unsigned int n);
void sheet_cell(struct sheet *s, const char *text);
void sheet_table_end(struct sheet *s);

#endif
