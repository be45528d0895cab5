/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes a report as JSON, one conversation after the other: a tree of all of them would need ten
 * times the memory of the analysis.
 */
#include "output.h"
#include <errno.h>
#include <string.h>

/* jansson writes each value and each space alone. */
struct buffer {
	size_t n;
	char bytes[16384];
};

struct writer {
	struct buffer buffer;
	json_dump_callback_t put;
	void *ctx;
	size_t flags;
	unsigned int indent; /* of a level; 0: all on one line */
	unsigned int depth;  /* levels around what is written */
};

static int flush(struct writer *w)
{
	size_t n = w->buffer.n;

	w->buffer.n = 0;
	return n ? w->put(w->buffer.bytes, n, w->ctx) : 0;
}

static int put_bytes(struct writer *w, const char *text, size_t n)
{
	struct buffer *b = &w->buffer;

	if (n > sizeof(b->bytes) - b->n && flush(w))
		return -1;
	if (n > sizeof(b->bytes))
		return w->put(text, n, w->ctx);
	memcpy(b->bytes + b->n, text, n);
	b->n += n;
	return 0;
}

static int put(struct writer *w, const char *text)
{
	return put_bytes(w, text, strlen(text));
}

static int new_line(struct writer *w)
{
	if (!w->indent)
		return 0;
	if (put(w, "\n"))
		return -1;
	for (unsigned int i = 0; i < w->indent * w->depth; i++)
		if (put(w, " "))
			return -1;
	return 0;
}

/* Indents the output of jansson, whose lines end only between values. */
static int put_deeper(const char *text, size_t n, void *ctx)
{
	struct writer *w = ctx;

	while (n) {
		const char *end = memchr(text, '\n', n);
		size_t line = end ? (size_t)(end - text) : n;

		if ((line && put_bytes(w, text, line)) || (end && new_line(w)))
			return -1;
		line += end != NULL;
		text += line;
		n -= line;
	}
	return 0;
}

static int put_value(struct writer *w, const json_t *value)
{
	if (!value) {
		errno = ENOMEM;
		return -1;
	}
	return json_dump_callback(value, put_deeper, w, w->flags | JSON_ENCODE_ANY);
}

/* Only one item at a time is a tree. */
static int put_list(struct writer *w, const struct rd_report *r, size_t n,
	json_t *(*make)(const struct rd_report *r, size_t i))
{
	int ret = put(w, "[");

	w->depth++;
	for (size_t i = 0; i < n && !ret; i++) {
		json_t *value = make(r, i);

		conversation_json_drop_plots(value);
		ret = (i && put(w, ",")) || new_line(w) || put_value(w, value);
		json_decref(value);
	}
	w->depth--;
	return ret || (n && new_line(w)) || put(w, "]") ? -1 : 0;
}

static int put_member(
	struct writer *w, const struct rd_report *r, const char *key, const json_t *value)
{
	if (!strcmp(key, "findings"))
		return put_list(w, r, r->findings.n, report_finding_json);
	if (!strcmp(key, "conversations"))
		return put_list(w, r, r->n_shown, report_conversation_json);
	return put_value(w, value);
}

static int put_members(struct writer *w, const struct rd_report *r, json_t *frame)
{
	const char *key, *comma = "";
	json_t *value;

	w->depth++;
	json_object_foreach (frame, key, value) {
		if (put(w, comma) || new_line(w) || put(w, "\"") || put(w, key) ||
			put(w, w->indent ? "\": " : "\":") || put_member(w, r, key, value))
			return -1;
		comma = ",";
	}
	w->depth--;
	return 0;
}

static int put_report(struct writer *w, const struct rd_report *r, json_t *frame)
{
	return put(w, "{") || put_members(w, r, frame) || new_line(w) || put(w, "}") || flush(w)
		       ? -1
		       : 0;
}

int rd_report_json_write(
	const struct rd_report *r, size_t flags, json_dump_callback_t callback, void *ctx)
{
	struct writer w = {
		.put = callback, .ctx = ctx, .flags = flags, .indent = flags & JSON_MAX_INDENT};
	json_t *frame = report_frame_json(r);
	int ret = put_report(&w, r, frame);

	json_decref(frame);
	return ret;
}
