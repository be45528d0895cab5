/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A report as one HTML page that needs nothing else: page.html with its marks filled in. */
#include "names.h"
#include <string.h>

static const char page[] =
#include "analysis/page_html.h"
	;
static const char style[] =
#include "analysis/page_css.h"
	;
static const char script[] =
#include "analysis/page_js.h"
	;

/* Text between tags and in <title>, where "<" and "&" mean something. */
static void put_text(const char *text, FILE *out)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		default:
			fputc(*text, out);
		}
}

static int put_escaped(const char *json, size_t n, void *out)
{
	for (size_t i = 0; i < n; i++)
		if (json[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(json[i], out);
	return ferror((FILE *)out) ? -1 : 0;
}

/* JSON within <script>: "<" stands in strings only, and nothing there may end the element. */
static int put_json(const json_t *json, FILE *out)
{
	return json_dump_callback(json, put_escaped, out, JSON_COMPACT | JSON_ENSURE_ASCII);
}

/* What fills the marks. */
struct content {
	const char *title, *text;
	json_t *document;
};

static int put_title(const struct content *c, FILE *out)
{
	put_text(c->title, out);
	fputs(" - rdmadump analyze", out);
	return 0;
}

static int put_style(const struct content *c, FILE *out)
{
	(void)c;
	return fputs(style, out);
}

static int put_script(const struct content *c, FILE *out)
{
	(void)c;
	return fputs(script, out);
}

static int put_document(const struct content *c, FILE *out)
{
	return put_json(c->document, out);
}

/* What the page calls the events. */
static int put_words(const struct content *c, FILE *out)
{
	json_t *words = json_object();
	int status;

	(void)c;
	for (unsigned int i = 0; i < RD_EV_COUNT; i++)
		json_object_set_new(
			words, rd_event_names[i].key, json_string(rd_event_names[i].help));
	status = words ? put_json(words, out) : -1;
	json_decref(words);
	return status;
}

/* For a reader without scripts: a mail program, a text browser. */
static int put_plain(const struct content *c, FILE *out)
{
	put_text(c->text, out);
	return 0;
}

static const struct mark {
	const char *name;
	int (*put)(const struct content *c, FILE *out);
} marks[] = {
	{"@TITLE@", put_title},
	{"@CSS@", put_style},
	{"@TEXT@", put_plain},
	{"@REPORT@", put_document},
	{"@WORDS@", put_words},
	{"@JS@", put_script},
	{0},
};

int rd_report_html(json_t *document, const char *title, const char *text, FILE *out)
{
	const struct content content = {title, text, document};
	const char *p = page;

	for (const struct mark *m = marks; m->name; m++) {
		const char *at = strstr(p, m->name);

		fwrite(p, 1, (size_t)(at - p), out);
		if (m->put(&content, out) < 0)
			return -1;
		p = at + strlen(m->name);
	}
	fputs(p, out);
	return ferror(out) ? -1 : 0;
}
