/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces names and addresses in the text output of any tool. */
#include "redact.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINE_LONG 1000 /* bytes: data of a page, no line of a tool */

struct output {
	char *bytes;
	size_t n, capacity;
	bool failed;
};

static void put(struct output *o, const char *bytes, size_t n)
{
	if (o->n + n + 1 > o->capacity && !o->failed) {
		size_t size = 2 * (o->n + n + 64);
		char *grown = realloc(o->bytes, size);

		o->failed = !grown;
		if (grown) {
			o->bytes = grown;
			o->capacity = size;
		}
	}
	if (o->failed)
		return;
	memcpy(o->bytes + o->n, bytes, n);
	o->n += n;
}

static bool has_word(const char *line, size_t n, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= n; i++)
		if (strncasecmp(line + i, word, len) == 0)
			return true;
	return false;
}

/* The rest of the line; of a long one, only to the end or the next beginning of an object. */
static size_t part_of(const char *text, size_t n, bool is_long)
{
	size_t len = 0;

	while (len < n && text[len] != '\n' && !(is_long && (text[len] == '{' || text[len] == '}')))
		len++;
	return len;
}

static bool begins_part(const char *text, size_t at, bool is_long)
{
	unsigned char before = at ? (unsigned char)text[at - 1] : '\n';

	return before == '\n' || (is_long && (before == '{' || before == '}'));
}

/* The meaning of digits without separators in these `len` bytes of a line. */
static unsigned int line_of(const char *text, size_t len)
{
	return (has_word(text, len, "guid") || has_word(text, len, "gid") ||
				       has_word(text, len, "eui") || has_word(text, len, "wwn")
			       ? LINE_GUID
			       : 0) |
	       (has_word(text, len, "mac") || has_word(text, len, "addr") ? LINE_MAC : 0);
}

/* Whether an address may begin after this byte. */
static bool is_boundary(unsigned char before)
{
	return !name_is_word(before);
}

static size_t replace_at(struct rd_redact *r, struct output *o, const char *text, size_t at,
	size_t n, unsigned int line)
{
	unsigned char before = at ? (unsigned char)text[at - 1] : 0;
	struct name *name = name_at(r, text + at, n - at, before);
	struct form f = {.n = 0};

	if (is_boundary(before))
		form_at(r, text, at, n, line, &f);
	if (f.n && (!name || f.n >= name->n)) {
		put(o, f.to, f.to_n);
		return f.n;
	}
	if (!name || !r->replacing)
		return 0;
	record_text(r, name->kind, name->text, name->n, name->to);
	put(o, name->to, strlen(name->to));
	return name->n;
}

char *rd_redact_text(struct rd_redact *r, const char *text, size_t n, size_t *out_n)
{
	struct output o = {.capacity = n + n / 8 + 64};
	unsigned int line = 0;
	bool is_long = false;
	size_t at = 0;

	o.bytes = malloc(o.capacity);
	o.failed = !o.bytes;
	if (!r->replacing)
		labels_collect(r, text, n);
	while (at < n && !o.failed) {
		size_t used;

		if (!at || text[at - 1] == '\n')
			is_long = part_of(text + at, n - at, false) > LINE_LONG;
		if (begins_part(text, at, is_long))
			line = line_of(text + at, part_of(text + at, n - at, is_long));
		used = replace_at(r, &o, text, at, n, line);
		if (!used) {
			put(&o, text + at, 1);
			used = 1;
		}
		at += used;
	}
	if (o.failed) {
		r->no_memory = true;
		free(o.bytes);
		return NULL;
	}
	o.bytes[o.n] = '\0';
	if (out_n)
		*out_n = o.n;
	return o.bytes;
}

void rd_redact_field(struct rd_redact *r, enum rd_redact_kind kind, uint8_t *field, size_t n)
{
	size_t len = strnlen((const char *)field, n), to_len;
	char *to;

	rd_redact_name(r, kind, (const char *)field, len);
	to = rd_redact_text(r, (const char *)field, len, &to_len);
	if (!to || !r->replacing) {
		free(to);
		return;
	}
	memset(field, 0, n);
	memcpy(field, to, to_len < n ? to_len : n);
	free(to);
}
