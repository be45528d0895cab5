/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes a report as JSON, one conversation after the other: a tree of all of them would need ten
 * times the memory of the analysis.
 */
#include "output.h"
#include <errno.h>

struct writer {
	json_dump_callback_t put;
	void *ctx;
	size_t flags;
	unsigned int indent; /* of a level; 0: all on one line */
	unsigned int depth;  /* levels around what is written */
};

static int put(const struct writer *w, const char *text)
{
	return w->put(text, strlen(text), w->ctx);
}

static int new_line(const struct writer *w)
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
	const struct writer *w = ctx;

	while (n) {
		const char *end = memchr(text, '\n', n);
		size_t line = end ? (size_t)(end - text) : n;

		if ((line && w->put(text, line, w->ctx)) || (end && new_line(w)))
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

/* A list of the report; only one item at a time is a tree. */
static int put_list(struct writer *w, const struct rd_report *r, const struct list *list)
{
	size_t n = list->count(r);
	int ret = put(w, "[");

	w->depth++;
	for (size_t i = 0; i < n && !ret; i++) {
		json_t *value = list->make(r, i);

		ret = (i && put(w, ",")) || new_line(w) || put_value(w, value);
		json_decref(value);
	}
	w->depth--;
	return ret || (n && new_line(w)) || put(w, "]") ? -1 : 0;
}

static const struct list *list_of(const char *key)
{
	for (const struct list *list = report_lists; list->key; list++)
		if (!strcmp(list->key, key))
			return list;
	return NULL;
}

static int put_members(struct writer *w, const struct rd_report *r, json_t *frame)
{
	const char *key, *comma = "";
	const struct list *list;
	json_t *value;

	w->depth++;
	json_object_foreach (frame, key, value) {
		if (put(w, comma) || new_line(w) || put(w, "\"") || put(w, key) ||
			put(w, w->indent ? "\": " : "\":"))
			return -1;
		list = list_of(key);
		if (list ? put_list(w, r, list) : put_value(w, value))
			return -1;
		comma = ",";
	}
	w->depth--;
	return 0;
}

int rd_report_json_write(
	const struct rd_report *r, size_t flags, json_dump_callback_t callback, void *ctx)
{
	struct writer w = {
		.put = callback, .ctx = ctx, .flags = flags, .indent = flags & JSON_MAX_INDENT};
	json_t *frame = report_frame_json(r);
	int ret = put(&w, "{") || put_members(&w, r, frame) || new_line(&w) || put(&w, "}");

	json_decref(frame);
	return ret ? -1 : 0;
}
