/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A label, and its text in lines that fit the terminal. */
#include "explain.h"
#include <rdmadump/printable.h>
#include <string.h>

#define INDENT 2
#define LABEL  10

/* The text after the column of labels, with as many words in a line as fit. */
static void put_wrapped(FILE *out, const char *text, size_t n, unsigned int columns)
{
	unsigned int at = INDENT + LABEL;

	while (n) {
		const char *gap = memchr(text, ' ', n);
		const size_t word = gap ? (size_t)(gap - text) : n;

		if (at > INDENT + LABEL && at + 1 + word > columns) {
			fprintf(out, "\n%*s", INDENT + LABEL, "");
			at = INDENT + LABEL;
		} else if (at > INDENT + LABEL) {
			fputc(' ', out);
			at++;
		}
		rd_printable_put(out, text, word);
		at += (unsigned int)word;
		n -= word + !!gap;
		text += word + !!gap;
	}
	fputc('\n', out);
}

void explain_put(FILE *out, const char *label, const char *text, unsigned int columns)
{
	while (text && *text) {
		size_t n = strcspn(text, "\n");

		fprintf(out, "%*s%-*s", INDENT, "", LABEL, label);
		put_wrapped(out, text, n, columns);
		label = "";
		text += n + (text[n] == '\n');
	}
}
