/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Breaks lines where they do not fit a terminal: between words, never within one. */
#include <ctype.h>
#include <rdmadump/array.h>
#include <rdmadump/printable.h>
#include <rdmadump/sheet.h>
#include <string.h>

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
	if (!isdigit((unsigned char)next[-2])) /* the last of the word, or a space */
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
static size_t width_of(const char *text, size_t n)
{
	size_t width = 0;

	for (size_t i = 0; i < n; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

size_t rd_break(const char *text, size_t at, size_t columns, size_t *next)
{
	size_t used = strspn(text, " ");

	used += word_length(text + used);
	at += width_of(text, used);
	while (text[used]) {
		size_t gap = strspn(text + used, " "), word = word_length(text + used + gap);
		size_t width = width_of(text + used, gap + word);

		if (!word || at + width > columns)
			break;
		at += width;
		used += gap + word;
	}
	*next = used + strspn(text + used, " ");
	return used;
}

void rd_put_wrapped(FILE *out, const char *text, size_t at, size_t hang, size_t columns)
{
	for (size_t next, n; n = rd_break(text, at, columns, &next), text[next];
		text += next, at = hang) {
		rd_printable_put(out, text, n);
		fprintf(out, "\n%*s", (int)hang, "");
	}
	rd_printable_put(out, text, SIZE_MAX);
	fputc('\n', out);
}
