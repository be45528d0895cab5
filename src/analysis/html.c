/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A report as one HTML page that needs nothing else: page.html with its marks filled in. */
#include "names.h"
#include <stdlib.h>
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
static int put_json(json_t *json, FILE *out)
{
	int status = -1;

	if (json)
		status = json_dump_callback(
			json, put_escaped, out, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(json);
	return status;
}

static int put_title(const struct rd_report *r, FILE *out)
{
	put_text(r->n_files ? r->files[0].name : "capture", out);
	fputs(" - rdmadump analyze", out);
	return 0;
}

static int put_style(const struct rd_report *r, FILE *out)
{
	(void)r;
	return fputs(style, out);
}

static int put_script(const struct rd_report *r, FILE *out)
{
	(void)r;
	return fputs(script, out);
}

static int put_report(const struct rd_report *r, FILE *out)
{
	return put_json(rd_report_json(r), out);
}

/* What the page calls the events. */
static int put_words(const struct rd_report *r, FILE *out)
{
	json_t *words = json_object();

	(void)r;
	for (unsigned int i = 0; i < RD_EV_COUNT; i++)
		json_object_set_new(
			words, rd_event_names[i].key, json_string(rd_event_names[i].help));
	return put_json(words, out);
}

/* For a reader without scripts: a mail program, a text browser. */
static int put_plain(const struct rd_report *r, FILE *out)
{
	static const struct rd_report_style all = {.verbose = 1};
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return -1;
	rd_report_text(r, &all, memory);
	if (fclose(memory) == 0)
		put_text(text, out);
	free(text);
	return 0;
}

static const struct mark {
	const char *name;
	int (*put)(const struct rd_report *r, FILE *out);
} marks[] = {
	{"@TITLE@", put_title},
	{"@CSS@", put_style},
	{"@TEXT@", put_plain},
	{"@REPORT@", put_report},
	{"@WORDS@", put_words},
	{"@JS@", put_script},
	{0},
};

int rd_report_html(const struct rd_report *r, FILE *out)
{
	const char *p = page;

	for (const struct mark *m = marks; m->name; m++) {
		const char *at = strstr(p, m->name);

		fwrite(p, 1, (size_t)(at - p), out);
		if (m->put(r, out) < 0)
			return -1;
		p = at + strlen(m->name);
	}
	fputs(p, out);
	return ferror(out) ? -1 : 0;
}
