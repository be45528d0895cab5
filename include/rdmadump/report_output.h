/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report of an analysis as text, JSON, page and comments on frames. */
#pragma once

#include <rdmadump/analysis.h>
#include <rdmadump/annotate.h>
#include <stdio.h>

/* Writes the report as docs/schema/analyze.json describes it, in parts, with little memory. Flags
 * are jansson's: JSON_COMPACT or JSON_INDENT(n). -1 if memory or `out` fails (errno). */
int rd_report_json_write(const struct rd_report *r, size_t flags, FILE *out);
/*
 * The same for a page, with plots: with these flags of jansson at most about this many bytes, with
 * the findings, conversations and rows of tables that matter most, and "left_out" with the number
 * of the others. NULL if out of memory. Owned by the caller.
 */
json_t *rd_report_json_within(const struct rd_report *r, size_t bytes, size_t flags);

/* The content of a page. Both functions return -1 on failure (errno). */
struct rd_report_page {
	const char *title;
	/* What --json prints, limited to a page, with these flags of jansson. NULL: no memory. */
	json_t *(*document)(const void *ctx, size_t flags);
	/* Writes the report as text, for browsers without scripts. */
	int (*text)(const void *ctx, FILE *out);
	const void *ctx;
};

#define RD_PAGE_BYTES 4200000 /* limit of `document`, for a page of less than 5 MB */

/*
 * Writes a self-contained HTML page; long text is truncated. -1 if memory or `out` fails (errno).
 */
int rd_report_html(const struct rd_report_page *page, FILE *out);

struct rd_report_style {
	unsigned int verbose; /* 0: one screen */
	unsigned int top;     /* most conversations and findings shown, 0: one screen */
	unsigned int columns; /* width of the terminal; 0: unknown */
	/* Prints the first line of a finding, and its end, in the colour of its severity; control
	 * characters are still in it. NULL: no colours. */
	void (*headline)(FILE *out, enum rd_severity severity, const char *line);
};

/*
 * The findings as comments on the frames of their evidence, ordered by frame; `item` is the number
 * of the finding. The caller frees *comments. -1 with RD_CLASS_PARTIAL if out of memory.
 */
int rd_report_comments(
	const struct rd_report *r, struct rd_comment **comments, size_t *n, struct rd_error *err);
/* The text of such a comment: one line, printable; rd_annotation.text with the report. */
char *rd_report_comment(const void *report, size_t finding);

void rd_report_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);
