/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the result of an analysis: text, JSON, an HTML page. */
#include "analyze.h"
#include "cli/cli.h"
#include "cli/report_file.h"
#include <errno.h>
#include <rdmadump/document.h>
#include <rdmadump/printable.h>
#include <string.h>

static void put_text(
	const struct analyze_outcome *o, const struct rd_report_style *style, FILE *out)
{
	static const char *const heads[RD_TAPS] = {"\n== A: ", "\n== B: "};

	if (!o->ends) {
		rd_report_text(o->reports[0], style, out);
		return;
	}
	rd_ends_text(o->ends, style, out);
	for (int i = 0; i < RD_TAPS; i++) {
		fputs(heads[i], out);
		rd_printable_put(out, o->names[i], SIZE_MAX);
		fputs(" alone\n", out);
		rd_report_text(o->reports[i], style, out);
	}
}

/* What a document of two captures has before, or around, the comparison and the captures. */
static json_t *document_of(const struct analyze_outcome *o, json_t *rest)
{
	return rd_document(
		RD_REPORT_VERSION, o->ends->start_ns - o->reports[0]->totals.moved_ns, rest);
}

/* The captures one after the other, since each may have many thousands of QPs. */
static int put_two(const struct analyze_outcome *o, size_t flags, FILE *out)
{
	json_t *document = document_of(o, json_object()), *ends = rd_ends_json(o->ends);
	char *head = json_dumps(document, JSON_COMPACT);
	int ret = -1;

	if (ends && head) {
		/* "ends" and "captures" follow within the object. */
		fprintf(out, "%.*s,\"ends\":", (int)strlen(head) - 1, head);
		ret = json_dumpf(ends, out, flags);
	} else {
		errno = ENOMEM;
	}
	free(head);
	json_decref(document);
	json_decref(ends);
	for (int i = 0; i < RD_TAPS && !ret; i++) {
		fputs(i ? "," : ",\"captures\":[", out);
		ret = rd_report_json_write(o->reports[i], flags, out);
	}
	return ret || fputs("]}", out) < 0 ? -1 : 0;
}

/* The comparison has half of a page, each of the captures a quarter. */
static json_t *page_document(const void *ctx, size_t flags)
{
	const struct analyze_outcome *o = ctx;

	if (!o->ends)
		return rd_report_json_within(o->reports[0], RD_PAGE_BYTES, flags);
	return document_of(
		o, json_pack("{s:o, s:[o, o]}", "ends",
			   rd_ends_json_within(o->ends, RD_PAGE_BYTES / 2, flags), "captures",
			   rd_report_json_within(o->reports[0], RD_PAGE_BYTES / 4, flags),
			   rd_report_json_within(o->reports[1], RD_PAGE_BYTES / 4, flags)));
}

static int put_page_text(const void *ctx, FILE *out)
{
	static const struct rd_report_style most = {.verbose = 1, .top = 200, .columns = 90};

	put_text(ctx, &most, out);
	return ferror(out) ? -1 : 0;
}

static int put_page(const struct analyze_outcome *o, FILE *out)
{
	const struct rd_report_page page = {
		.title = o->names[0], .document = page_document, .text = put_page_text, .ctx = o};

	return rd_report_html(&page, out);
}

static bool page_is_file(const struct analyze_settings *s)
{
	return s->html && strcmp(s->html, "-") != 0;
}

int analyze_check_page(const struct analyze_settings *s, struct rd_error *err)
{
	if (s->json && s->html && !page_is_file(s))
		return rd_fail(err, RD_CLASS_USAGE, 0, "give the page a file name",
			"--json: the page goes to standard output, too");
	if (s->json_file && report_file_check(s->json_file, "--json", &s->inputs, err) < 0)
		return -1;
	return page_is_file(s) ? report_file_check(s->html, "--html", &s->inputs, err) : 0;
}

static int write_page(
	const struct analyze_settings *s, const struct analyze_outcome *o, struct rd_error *err)
{
	FILE *out = report_file_open(s->html, "--html", &s->inputs, false, err);

	if (!out)
		return -1;
	errno = 0;
	return report_file_close(out, s->html, "--html", put_page(o, out) == 0, err);
}

static void put_headline(FILE *out, enum rd_severity severity, const char *line)
{
	static const enum rd_colour colours[] = {
		[RD_SEV_WARNING] = RD_COLOUR_WARNING, [RD_SEV_PROBLEM] = RD_COLOUR_PROBLEM};

	rd_cli_put_line(out, colours[severity], line);
}

static int put_json(const struct analyze_settings *s, const struct analyze_outcome *o, FILE *out)
{
	const size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(9);
	json_t *changes = o->changes ? rd_changes_json(o->changes, s->compare) : NULL;
	int ret = o->changes ? json_dumpf(changes, out, flags)
		  : o->ends  ? put_two(o, flags, out)
			     : rd_report_json_write(o->reports[0], flags, out);

	json_decref(changes);
	return ret < 0 || fputc('\n', out) < 0;
}

/* Documents of several pairs of files follow each other. */
static int write_json(
	const struct analyze_settings *s, const struct analyze_outcome *o, struct rd_error *err)
{
	if (!*s->json_out)
		*s->json_out = report_file_open(s->json_file, "--json", &s->inputs, false, err);
	if (!*s->json_out)
		return -1;
	errno = 0;
	if (put_json(s, o, *s->json_out))
		return rd_fail(err, RD_CLASS_OUTPUT, errno ? errno : ENOMEM,
			"free some space or name another file", "--json: cannot write '%s'",
			s->json_file);
	return 0;
}

/* To standard output, in the format of the options. */
static int put_output(const struct analyze_settings *s, const struct analyze_outcome *o)
{
	struct rd_report_style style = s->style;

	if (s->html && !strcmp(s->html, "-"))
		return put_page(o, stdout);
	if (s->annotate && !strcmp(s->annotate, "-"))
		return 0;
	if (s->json)
		return put_json(s, o, stdout);
	if (o->changes) {
		rd_changes_text(o->changes, s->compare, s->style.verbose, stdout);
		return 0;
	}
	style.columns = rd_cli_columns();
	if (s->color == WHEN_ALWAYS || (s->color == WHEN_AUTO && rd_cli_has_colours(stdout)))
		style.headline = put_headline;
	put_text(o, &style, stdout);
	return 0;
}

void analyze_outcome_free(struct analyze_outcome *o)
{
	rd_ends_report_free(o->ends);
	for (int i = 0; i < RD_TAPS; i++)
		rd_report_free(o->reports[i]);
}

int analyze_print(
	const struct analyze_settings *s, const struct analyze_outcome *o, struct rd_error *err)
{
	int ret = 0;

	for (int i = 0; i < RD_TAPS; i++)
		if (o->reports[i] && s->style.top && s->style.top < o->reports[i]->n_shown)
			o->reports[i]->n_shown = s->style.top;
	if (page_is_file(s))
		ret = write_page(s, o, err);
	if (!ret && s->json_file)
		ret = write_json(s, o, err);
	errno = 0;
	if (!ret && (put_output(s, o) || fflush(stdout) || ferror(stdout)))
		ret = rd_cli_stdout_failed(errno ? errno : ENOMEM, err);
	return ret;
}
