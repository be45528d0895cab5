/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows and streams of a report, wrapped where they do not fit a terminal. */
#include "layout.h"
#include <rdmadump/printable.h>
#include <rdmadump/sheet.h>
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

void layout_row(
	FILE *out, const char *label, unsigned int at, const char *text, unsigned int columns)
{
	fprintf(out, "%-*s", (int)at, label);
	rd_put_wrapped(out, text, at, at, columns);
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

	if (!l->line[rd_utf8_fit(l->line, l->columns)]) {
		fwrite(l->line, 1, l->n, l->out);
		fputc('\n', l->out);
	} else {
		fprintf(l->out, "%*s", (int)indent, "");
		rd_put_wrapped(l->out, l->line + indent, indent, indent + HANG, l->columns);
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
