/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A report as a self-contained HTML page: page.html with its placeholders replaced. */
#include "output.h"
#include <errno.h>
#include <rdmadump/printable.h>

static const char template[] =
#include "analysis/output/page_html.h"
	;
static const char style[] =
#include "analysis/output/page_css.h"
	;
static const char script[] =
#include "analysis/output/page_draw_js.h"
#include "analysis/output/page_js.h"
	;

#define TEXT_BYTES 400000 /* of the report as text */

struct escaping {
	FILE *out;
	size_t bytes;
	bool full; /* the rest is left out */
};

/* Text between tags and in <title>, where "<" and "&" are special. */
static ssize_t write_text(void *cookie, const char *text, size_t n)
{
	struct escaping *e = cookie;

	for (size_t i = 0; i < n && !e->full; i++) {
		const char one[] = {text[i], 0};
		const char *put = text[i] == '<' ? "&lt;" : text[i] == '&' ? "&amp;" : one;

		if (text[i])
			fputs(put, e->out);
		e->bytes += strlen(put);
		e->full = e->bytes > TEXT_BYTES && text[i] == '\n';
	}
	return ferror(e->out) ? 0 : (ssize_t)n;
}

/* `e` is used until the stream is closed. */
static FILE *escaping_open(struct escaping *e, FILE *out)
{
	static const cookie_io_functions_t escaping = {.write = write_text};

	*e = (struct escaping){.out = out};
	return fopencookie(e, "w", escaping);
}

/* JSON within <script>: "<" is in strings only, and must not end the element. */
static int put_escaped(const char *json, size_t n, void *out)
{
	for (size_t i = 0; i < n; i++)
		if (json[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(json[i], out);
	return ferror((FILE *)out) ? -1 : 0;
}

#define JSON_FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9))

static int put_title(const struct rd_report_page *c, FILE *out)
{
	struct escaping e;
	FILE *text = escaping_open(&e, out);

	if (!text)
		return -1;
	rd_printable_put(text, c->title, SIZE_MAX);
	fputs(" - rdmadump analyze", text);
	return fclose(text) ? -1 : 0;
}

/* Consumes the value. */
static int put_json(json_t *value, FILE *out)
{
	const int ret = json_dump_callback(value, put_escaped, out, JSON_FLAGS);

	if (!value)
		errno = ENOMEM;
	json_decref(value);
	return ret;
}

static int put_document(const struct rd_report_page *c, FILE *out)
{
	return put_json(c->document(c->ctx, JSON_FLAGS), out);
}

/* The texts of the incidents. */
static int put_words(const struct rd_report_page *c, FILE *out)
{
	json_t *words = json_object();

	(void)c;
	for (unsigned int i = 0; i < RD_INC_COUNT; i++)
		json_object_set_new(
			words, rd_incident_names[i].key, json_string(rd_incident_names[i].help));
	return put_json(words, out);
}

/* For programs without scripts: a mail program, a text browser. */
static int put_plain(const struct rd_report_page *c, FILE *out)
{
	struct escaping e;
	FILE *text = escaping_open(&e, out);
	int ret;

	if (!text)
		return -1;
	ret = c->text(c->ctx, text);
	if (fclose(text) || ret)
		return -1;
	if (e.full)
		fputs("... (the rest is left out; rdmadump analyze -v prints all)\n", out);
	return 0;
}

static const struct mark {
	const char *name;
	int (*put)(const struct rd_report_page *c, FILE *out);
	const char *text; /* instead */
} marks[] = {
	{"@TITLE@", .put = put_title},
	{"@CSS@", .text = style},
	{"@TEXT@", .put = put_plain},
	{"@REPORT@", .put = put_document},
	{"@WORDS@", .put = put_words},
	{"@JS@", .text = script},
	{0},
};

int rd_report_html(const struct rd_report_page *page, FILE *out)
{
	const char *p = template;

	for (const struct mark *m = marks; m->name; m++) {
		const char *at = strstr(p, m->name);

		fwrite(p, 1, (size_t)(at - p), out);
		if ((m->text ? fputs(m->text, out) : m->put(page, out)) < 0)
			return -1;
		p = at + strlen(m->name);
	}
	fputs(p, out);
	return ferror(out) ? -1 : 0;
}
