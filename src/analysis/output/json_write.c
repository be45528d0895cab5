/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes a report as JSON, one conversation after the other: a tree of all of them would need ten
 * times the memory of the analysis.
 */
#include "output.h"
#include <errno.h>

struct writer {
	FILE *out;
	size_t flags;
	unsigned int indent; /* of a level; 0: all on one line */
	unsigned int depth;  /* levels around what is written */
};

static void new_line(const struct writer *w)
{
	for (unsigned int i = 0; w->indent && i <= w->indent * w->depth; i++)
		putc_unlocked(i ? ' ' : '\n', w->out);
}

/* Indents lines, which jansson ends only between values. It writes many pieces: without locks. */
static int put_deeper(const char *text, size_t n, void *ctx)
{
	const struct writer *w = ctx;
	const char *end;

	while ((end = memchr(text, '\n', n))) {
		fwrite_unlocked(text, 1, (size_t)(end - text), w->out);
		new_line(w);
		n -= (size_t)(end - text) + 1;
		text = end + 1;
	}
	fwrite_unlocked(text, 1, n, w->out);
	return ferror_unlocked(w->out) ? -1 : 0;
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
	int ret = 0;

	fputc('[', w->out);
	w->depth++;
	for (size_t i = 0; i < n && !ret; i++) {
		json_t *value = make(r, i);

		conversation_json_drop_plots(value);
		fputs(i ? "," : "", w->out);
		new_line(w);
		ret = put_value(w, value);
		json_decref(value);
	}
	w->depth--;
	if (n)
		new_line(w);
	fputc(']', w->out);
	return ret;
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

int rd_report_json_write(const struct rd_report *r, size_t flags, FILE *out)
{
	struct writer w = {
		.out = out, .flags = flags, .indent = flags & JSON_MAX_INDENT, .depth = 1};
	json_t *frame = report_frame_json(r), *value;
	const char *key, *comma = "{";
	int ret = frame ? 0 : put_value(&w, NULL);

	json_object_foreach (frame, key, value) {
		fputs(comma, out);
		new_line(&w);
		fprintf(out, w.indent ? "\"%s\": " : "\"%s\":", key);
		ret = ret ? ret : put_member(&w, r, key, value);
		comma = ",";
	}
	w.depth = 0;
	new_line(&w);
	fputc('}', out);
	json_decref(frame);
	return ret || ferror(out) ? -1 : 0;
}
