/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the result of an analysis: text, JSON, an HTML page. */
#include "analyze.h"
#include "cli/cli.h"
#include <errno.h>
#include <rdmadump/document.h>
#include <rdmadump/printable.h>
#include <stdlib.h>

/* --- text ------------------------------------------------------------------------------------- */

/* A capture that is in several pairs is printed once: after the worst of them. */
static void put_capture(const struct rd_points *p, unsigned int i, bool *printed,
	const struct rd_report_style *style, FILE *out)
{
	if (printed[i])
		return;
	printed[i] = true;
	fputs("\n== ", out);
	rd_printable_put(out, p->captures[i].name, SIZE_MAX);
	fputs(" alone\n", out);
	rd_report_text(p->captures[i].report, style, out);
}

static void put_reports(const struct rd_points *p, const struct rd_points_verdict *v, bool *printed,
	const struct rd_report_style *style, FILE *out)
{
	const struct rd_points_pair *pair = v->pair < p->n_pairs ? &p->pairs[v->pair] : NULL;

	fputs(pair ? "\n==== A: " : "\n==== ", out);
	rd_printable_put(
		out, p->captures[pair ? pair->capture[RD_TAP_A] : v->capture].name, SIZE_MAX);
	if (pair) {
		fputs(", B: ", out);
		rd_printable_put(out, p->captures[pair->capture[RD_TAP_B]].name, SIZE_MAX);
	}
	fputs("\n\n", out);
	if (!pair) {
		rd_report_text(p->captures[v->capture].report, style, out);
		return;
	}
	rd_ends_text(pair->ends, style, out);
	for (int i = 0; i < RD_TAPS; i++)
		put_capture(p, pair->capture[i], printed, style, out);
}

/* The overview, and the reports with faults; with -v all. -1 if out of memory. */
static int put_points(const struct rd_points *p, const struct rd_report_style *style, FILE *out)
{
	bool *printed = calloc(p->n_captures, sizeof(*printed));
	const size_t shown = style->verbose ? p->n_verdicts : p->n_faults;

	if (!printed)
		return -1;
	rd_points_text(p, style, out);
	for (size_t i = 0; i < shown; i++)
		put_reports(p, &p->verdicts[i], printed, style, out);
	if (shown < p->n_verdicts)
		fprintf(out, "\n%zu more report%s: -v shows %s\n", p->n_verdicts - shown,
			p->n_verdicts - shown == 1 ? "" : "s",
			p->n_verdicts - shown == 1 ? "it" : "them");
	free(printed);
	return 0;
}

static int put_text(const struct analyze_outcome *o, const struct rd_report_style *style, FILE *out)
{
	static const char *const heads[RD_TAPS] = {"\n== A: ", "\n== B: "};

	if (o->points)
		return put_points(o->points, style, out);
	if (!o->ends) {
		rd_report_text(o->reports[0], style, out);
		return 0;
	}
	rd_ends_text(o->ends, style, out);
	for (int i = 0; i < RD_TAPS; i++) {
		fputs(heads[i], out);
		rd_printable_put(out, o->names[i], SIZE_MAX);
		fputs(" alone\n", out);
		rd_report_text(o->reports[i], style, out);
	}
	return 0;
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

	if (o->points)
		return rd_points_json_within(o->points, RD_PAGE_BYTES, flags);
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

	return put_text(ctx, &most, out) < 0 || ferror(out) ? -1 : 0;
}

static int put_page(const struct analyze_outcome *o, FILE *out)
{
	const struct rd_report_page page = {
		.title = o->points ? "captures at several points" : o->names[0],
		.document = page_document,
		.text = put_page_text,
		.ctx = o};

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

static void put_headline(FILE *out, enum rd_severity severity, const char *line)
{
	static const enum rd_colour colours[] = {
		[RD_SEV_WARNING] = RD_COLOUR_WARNING, [RD_SEV_PROBLEM] = RD_COLOUR_PROBLEM};

	rd_cli_put_line(out, colours[severity], line);
}

static int put_json(const struct analyze_outcome *o, FILE *out)
{
	const size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(9);
	int ret = o->points ? rd_points_json_write(o->points, flags, out)
		  : o->ends ? put_two(o, flags, out)
			    : rd_report_json_write(o->reports[0], flags, out);

	return ret < 0 || fputc('\n', out) < 0;
}

/* To the file that an option names. */
static int write_file(const struct analyze_settings *s, const char *path, const char *option,
	int (*put)(const struct analyze_outcome *o, FILE *out), const struct analyze_outcome *o,
	struct rd_error *err)
{
	FILE *out = report_file_open(path, option, &s->inputs, false, err);

	if (!out)
		return -1;
	errno = 0;
	return report_file_close(out, path, option, put(o, out) == 0, err);
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
		return put_json(o, stdout);
	style.columns = rd_cli_columns(STDOUT_FILENO);
	if (s->color == WHEN_ALWAYS || (s->color == WHEN_AUTO && rd_cli_has_colours(stdout)))
		style.headline = put_headline;
	return put_text(o, &style, stdout);
}

void analyze_outcome_free(struct analyze_outcome *o)
{
	rd_ends_report_free(o->ends);
	for (int i = 0; i < RD_TAPS; i++)
		rd_report_free(o->reports[i]);
}

void analyze_limit(const struct analyze_settings *s, struct rd_report *report)
{
	if (s->style.top && s->style.top < report->n_shown)
		report->n_shown = s->style.top;
}

int analyze_print(
	const struct analyze_settings *s, const struct analyze_outcome *o, struct rd_error *err)
{
	int ret = 0;

	for (int i = 0; i < RD_TAPS; i++)
		if (o->reports[i])
			analyze_limit(s, o->reports[i]);
	if (page_is_file(s))
		ret = write_file(s, s->html, "--html", put_page, o, err);
	if (!ret && s->json_file)
		ret = write_file(s, s->json_file, "--json", put_json, o, err);
	errno = 0;
	if (!ret && (put_output(s, o) || fflush(stdout) || ferror(stdout)))
		ret = rd_stdout_check(errno ? errno : ENOMEM, err);
	return ret;
}
