/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces names and addresses in the text output of any tool. */
#include "redact.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define LINE_LONG 1000 /* bytes: data of a page, no line of a tool */

/* Whose text it is: this machine's tools'; a capture's or about one; a member's path. */
enum text_kind { TEXT_OWN, TEXT_FOREIGN, TEXT_PATH };

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
				       has_word(text, len, "eui") || has_word(text, len, "ww")
			       ? LINE_GUID
			       : 0) |
	       (has_word(text, len, "mac") || has_word(text, len, "addr") ? LINE_MAC : 0);
}

/* --- escape sequences and keys of JSON -------------------------------------------------- */

/* JSON, and pages, which contain data as JSON; the kernel's log begins with "[ 1.5]". */
static bool is_data(const char *text, size_t n)
{
	const char *begins = "{[<";

	for (size_t at = 0; at < n && text[at]; at++) {
		if (isspace((unsigned char)text[at]))
			continue;
		if (text[at] != '[' || !strchr(begins, '['))
			return strchr(begins, text[at]) != NULL;
		begins = "{\"";
	}
	return false;
}

static bool has_digits(const char *text, size_t left, size_t n, const char *digits)
{
	return left >= n && strspn(text, digits) >= n;
}

/* The bytes of the escape sequence that a backslash begins: of JSON, C or the kernel's files. */
static size_t escape_length(const char *text, size_t left)
{
	static const char hex[] = "0123456789abcdefABCDEF";

	if (left > 1 && strchr("nrtbf\"\\/", text[1]))
		return 2;
	if (left > 1 && text[1] == 'u' && has_digits(text + 2, left - 2, 4, hex))
		return 6;
	if (left > 1 && text[1] == 'x' && has_digits(text + 2, left - 2, 2, hex))
		return 4;
	return has_digits(text + 1, left - 1, 3, "01234567") ? 4 : 1;
}

/* The end of the string that begins with the quote `at`. */
static size_t string_end(const char *text, size_t at, size_t n)
{
	for (at++; at < n && text[at] != '"'; at++)
		at += text[at] == '\\';
	return at + 1;
}

static bool is_key(const char *text, size_t end, size_t n)
{
	while (end < n && isspace((unsigned char)text[end]))
		end++;
	return end < n && text[end] == ':';
}

/* --- replacing -------------------------------------------------------------------------- */

struct scan {
	struct place place;
	FILE *out;
	struct form form; /* of the run of characters that was looked at last */
	enum text_kind kind;
	bool data, is_long;
	bool key; /* the string that ends at string_end is a key */
	size_t string_end;
	size_t mail_end, host_end; /* what was looked at */
	struct labels labels;
	size_t label_end; /* of what the last label names */
};

/* In a path or a key, words are no names. */
static bool is_fixed(const struct scan *s, size_t at)
{
	return s->kind == TEXT_PATH || (s->key && at < s->string_end);
}

static bool form_is_at(struct scan *s, size_t at)
{
	char c = s->place.text[at];

	if (at >= s->form.end && (isxdigit((unsigned char)c) || (c && strchr(":.-", c))))
		form_find(&s->place, at, &s->form);
	return s->form.n && s->form.at == at;
}

static const struct name *name_is_at(struct scan *s, size_t at)
{
	const struct place *p = &s->place;
	unsigned char before = at > p->begin ? (unsigned char)p->text[at - 1] : 0;

	if (is_fixed(s, at))
		return NULL;
	return name_at(p->r, p->text + at, p->n - at, before);
}

/* Copies an escape sequence; an address or a name may follow it directly. */
static size_t escape(struct scan *s, size_t at)
{
	struct place *p = &s->place;
	size_t n = escape_length(p->text + at, p->n - at);

	/* Elsewhere a backslash may also be none: DOMAIN\user */
	if (!s->data && n > 1 && (form_is_at(s, at + 1) || name_is_at(s, at + 1)))
		n = 1;
	fwrite_unlocked(p->text + at, 1, n, s->out);
	if (n > 1) {
		p->begin = at + n;
		s->form = (struct form){.n = 0};
	}
	return n;
}

/* Puts what replaces `n` bytes, a name; false: it identifies nothing. */
static bool put_name(struct scan *s, size_t at, size_t n, enum rd_redact_kind kind, bool record)
{
	const struct place *p = &s->place;
	char *to = n && p->r->replacing ? name_replacement(p->r, kind, p->text + at, n) : NULL;

	if (!to)
		return false;
	if (record)
		record_text(p->r, kind, p->text + at, n, to);
	fwrite_unlocked(to, 1, strlen(to), s->out);
	free(to);
	return true;
}

/* A host of a known domain, an e-mail address: the bytes of it, and what it is; 0: none. */
static size_t word_at(struct scan *s, size_t at, enum rd_redact_kind *kind)
{
	const struct place *p = &s->place;
	const char *text = p->text + at;
	size_t n = 0, run, first;

	if (is_fixed(s, at))
		return 0;
	if (at >= s->mail_end) {
		n = mail_at(p->r, text, p->n - at, &run);
		s->mail_end = at + run;
	}
	if (n)
		*kind = RD_REDACT_USER;
	if (n || at < s->host_end)
		return n;
	n = host_at(p->r, text, p->n - at, &run);
	s->host_end = at + run;
	first = n ? strcspn(text, ".") : 0;
	if (s->kind == TEXT_OWN && first > 3 && RD_ANY(t, text, first, isdigit((unsigned char)*t)))
		rd_redact_name(p->r, RD_REDACT_HOST, text, first);
	return n;
}

/* The bytes of the name that a label names here; 0: none. */
static size_t labelled_at(const struct scan *s, size_t at)
{
	for (size_t i = 0; i < s->labels.n_names && !is_fixed(s, at); i++)
		if (s->labels.name[i].at == at)
			return s->labels.name[i].n;
	return 0;
}

/* Returns the bytes of text that are done. */
static size_t replace_at(struct scan *s, size_t at)
{
	const struct place *p = &s->place;
	const struct name *name = name_is_at(s, at);
	enum rd_redact_kind kind = RD_REDACT_HOST;
	size_t n = name ? name->n : 0, label = labelled_at(s, at), word = word_at(s, at, &kind);

	if (word > n && word > label && put_name(s, at, word, kind, true)) {
		n = word;
	} else if (form_is_at(s, at) && s->form.n >= n && s->form.n >= label) {
		fwrite_unlocked(s->form.to, 1, s->form.to_n, s->out);
		n = s->form.n;
	} else if (label > n && put_name(s, at, label, s->labels.kind, false)) {
		n = label; /* only there, and not in the map */
	} else if (name && p->r->replacing) {
		record_text(p->r, name->kind, name->text, n, name->to);
		fwrite_unlocked(name->to, 1, strlen(name->to), s->out);
	} else {
		putc_unlocked(p->text[at], s->out);
		return 1;
	}
	s->form = (struct form){.n = 0};
	return n;
}

/* What the line, the string of JSON, and a label say about what is in them. */
static void look_ahead(struct scan *s, size_t at)
{
	struct place *p = &s->place;
	struct labels *l = &s->labels;

	if (p->r->replacing && s->kind != TEXT_PATH && at >= s->label_end &&
		label_find(p->r, l, at))
		s->label_end = l->name[l->n_names - 1].at + l->name[l->n_names - 1].n;
	if (!at || p->text[at - 1] == '\n')
		s->is_long = part_of(p->text + at, p->n - at, false) > LINE_LONG;
	if (begins_part(p->text, at, s->is_long))
		p->line = line_of(p->text + at, part_of(p->text + at, p->n - at, s->is_long));
	if (s->data && p->text[at] == '"' && at >= s->string_end) {
		s->string_end = string_end(p->text, at, p->n);
		s->key = is_key(p->text, s->string_end, p->n);
	}
}

static char *text_redact(
	struct rd_redact *r, enum text_kind kind, const char *text, size_t n, size_t *out_n)
{
	char *to = NULL;
	size_t to_n = 0;
	struct scan s = {.place = {.r = r, .text = text, .n = n},
		.out = open_memstream(&to, &to_n),
		.kind = kind,
		.data = is_data(text, n)};
	bool failed = !s.out;

	s.labels = (struct labels){
		.text = text, .n = n, .data = s.data, .foreign = kind == TEXT_FOREIGN};
	if (!r->replacing && kind == TEXT_OWN)
		labels_collect(r, text, n, s.data);
	for (size_t at = 0; at < n && !failed; failed = ferror(s.out)) {
		look_ahead(&s, at);
		at += text[at] == '\\' ? escape(&s, at) : replace_at(&s, at);
	}
	if (s.out && fclose(s.out))
		failed = true;
	if (failed) {
		r->no_memory = true;
		free(to);
		return NULL;
	}
	if (out_n)
		*out_n = to_n;
	return to;
}

char *rd_redact_text(struct rd_redact *r, const char *text, size_t n, size_t *out_n)
{
	return text_redact(r, TEXT_OWN, text, n, out_n);
}

char *rd_redact_foreign(struct rd_redact *r, const char *text, size_t n, size_t *out_n)
{
	return text_redact(r, TEXT_FOREIGN, text, n, out_n);
}

char *rd_redact_path(struct rd_redact *r, const char *path)
{
	return text_redact(r, TEXT_PATH, path, strlen(path), NULL);
}

void rd_redact_field(struct rd_redact *r, enum rd_redact_kind kind, uint8_t *field, size_t n)
{
	size_t len = strnlen((const char *)field, n);
	char *to = name_replacement(r, kind, (const char *)field, len);

	if (to)
		record_text(r, kind, (const char *)field, len, to);
	else
		to = rd_redact_foreign(r, (const char *)field, len, NULL);
	if (to && r->replacing)
		strncpy((char *)field, to, n); /* padded with zeros, and without an end if full */
	free(to);
}
