/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Breaks lines where they do not fit a terminal: between words, never within one. */
#include "layout.h"
#include <ctype.h>
#include <rdmadump/array.h>
#include <rdmadump/printable.h>
#include <stdlib.h>

#define COLUMNS	    80 /* where the terminal does not say it */
#define COLUMNS_MIN 40
#define HANG	    2

unsigned int layout_columns(const struct rd_report_style *style)
{
	if (!style->columns)
		return COLUMNS;
	return style->columns < COLUMNS_MIN ? COLUMNS_MIN : style->columns;
}

/* "284" of "1 284 551" */
static bool is_group(const char *text)
{
	return isdigit((unsigned char)text[0]) && isdigit((unsigned char)text[1]) &&
	       isdigit((unsigned char)text[2]) && !isdigit((unsigned char)text[3]);
}

/* A number stays with its unit and its groups of digits, a QP and a frame with their number. */
static bool is_one_word(const char *word, size_t n, const char *next)
{
	static const char *const units[] = {
		"%", "s", "us", "ms", "ns", "B", "kB", "MB", "GB", "b/s", "kb/s", "Mb/s", "Gb/s"};
	static const char *const names[] = {"QP", "frame", "PSN", "LID", "priority", "(network"};
	const size_t unit = strcspn(next, " .,;:)");

	for (size_t i = 0; i < RD_COUNT(names); i++)
		if (n == strlen(names[i]) && !strncmp(word, names[i], n))
			return isdigit((unsigned char)*next);
	if (!n || !isdigit((unsigned char)word[n - 1]))
		return false;
	for (size_t i = 0; i < RD_COUNT(units); i++)
		if (unit == strlen(units[i]) && !strncmp(next, units[i], unit))
			return true;
	return is_group(next);
}

/* The bytes up to the next place where a line may end. */
static size_t word_length(const char *text)
{
	size_t n = strcspn(text, " "), start = 0;

	while (text[n] == ' ' && is_one_word(text + start, n - start, text + n + 1)) {
		start = n + 1;
		n = start + strcspn(text + start, " ");
	}
	return n;
}

/* Characters, of UTF-8. */
static unsigned int width_of(const char *text, size_t n)
{
	unsigned int width = 0;

	for (size_t i = 0; i < n; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

size_t layout_break(const char *text, unsigned int at, unsigned int columns, size_t *next)
{
	size_t used = strspn(text, " ");

	used += word_length(text + used);
	at += width_of(text, used);
	while (text[used]) {
		size_t gap = strspn(text + used, " "), word = word_length(text + used + gap);
		unsigned int width = width_of(text + used, gap + word);

		if (!word || at + width > columns)
			break;
		at += width;
		used += gap + word;
	}
	*next = used + strspn(text + used, " ");
	return used;
}

/* `label` is before the first line, in its indentation. */
static void put_lines(FILE *out, const char *label, const char *text, unsigned int at,
	unsigned int hang, unsigned int columns)
{
	for (; *text; label = "") {
		size_t next, n = layout_break(text, at, columns, &next);

		fprintf(out, "%-*s", (int)at, label);
		rd_printable_put(out, text, n);
		fputc('\n', out);
		text += next;
		at = hang;
	}
}

void layout_row(
	FILE *out, const char *label, unsigned int at, const char *text, unsigned int columns)
{
	put_lines(out, label, text, at, at, columns);
}

/* --- a stream --------------------------------------------------------------------------------- */

struct layout {
	FILE *out;
	unsigned int columns;
	char *line; /* without its end so far */
	size_t n, capacity;
};

static void put_line(struct layout *l)
{
	unsigned int indent = (unsigned int)strspn(l->line, " ");

	if (width_of(l->line, l->n) <= l->columns) {
		fwrite(l->line, 1, l->n, l->out);
		fputc('\n', l->out);
	} else {
		put_lines(l->out, "", l->line + indent, indent, indent + HANG, l->columns);
	}
	l->n = 0;
}

static bool keep(struct layout *l, const char *text, size_t n)
{
	if (l->n + n + 1 > l->capacity) {
		size_t capacity = 2 * (l->n + n) + 128;
		char *grown = realloc(l->line, capacity);

		if (!grown)
			return false;
		l->line = grown;
		l->capacity = capacity;
	}
	memcpy(l->line + l->n, text, n);
	l->n += n;
	l->line[l->n] = '\0';
	return true;
}

static ssize_t put(void *cookie, const char *text, size_t n)
{
	struct layout *l = cookie;

	for (size_t i = 0; i < n;) {
		const char *end = memchr(text + i, '\n', n - i);
		size_t part = end ? (size_t)(end - text) - i : n - i;

		if (!keep(l, text + i, part))
			return 0;
		if (end)
			put_line(l);
		i += part + (end != NULL);
	}
	return (ssize_t)n;
}

static int done(void *cookie)
{
	struct layout *l = cookie;

	fwrite(l->line ? l->line : "", 1, l->n, l->out);
	free(l->line);
	free(l);
	return 0;
}

FILE *layout_open(FILE *out, unsigned int columns)
{
	static const cookie_io_functions_t functions = {.write = put, .close = done};
	struct layout *l = malloc(sizeof(*l));
	FILE *stream;

	if (!l)
		return NULL;
	*l = (struct layout){.out = out, .columns = columns};
	stream = fopencookie(l, "w", functions);
	if (!stream)
		free(l);
	return stream;
}
