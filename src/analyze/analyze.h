/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options, reading and printing of `rdmadump analyze`. */
#pragma once

#include <rdmadump/outfile.h>
#include <rdmadump/points.h>
#include <rdmadump/report_output.h>
#include <rdmadump/source.h>

enum analyze_when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };

struct analyze_settings {
	struct rd_analysis_config config;
	struct rd_report_style style;
	char **files;
	unsigned int n_files;
	bool json;	       /* to standard output */
	const char *json_file; /* beside the text; NULL: none */
	const char *html;      /* NULL: none */
	const char *annotate;  /* NULL: no copy of the input with comments */
	const char *marks;     /* NULL: no list of marked frames */
	enum analyze_when ends, color;
	unsigned int threads;	 /* of the comparison of several points */
	struct rd_inputs inputs; /* all files that are read, which no output may replace */
};

/* Faults of the input that the exit status reports although it could be analysed. */
struct analyze_faults {
	bool damaged;	 /* a file ends early */
	bool incomplete; /* frames are not decoded: rd_report.incomplete */
};

/* --- reading (read.c) ------------------------------------------------------------------------- */

/* Opens and starts a file for `a`; NULL: to read its frames only. Closed by analyze_close(). */
int analyze_open(
	struct rd_source **source, struct rd_analysis *a, const char *path, struct rd_error *err);
/* Analyses the next batch. Returns the number of its frames; below 0: what receive() returned. */
int analyze_batch(struct rd_analysis *a, struct rd_source *source, struct rd_frame frames[RD_BATCH],
	struct rd_error *err);
/* How many of the first frames (n > 0) are of the same link type. */
unsigned int analyze_run(
	const struct rd_source *source, const struct rd_frame *frames, unsigned int n);
/* Until when the capture ran. `damage` says why the file ended early, NULL: it did not. */
uint64_t analyze_close(struct rd_source *source, struct rd_analysis *a, const char *damage);
/* Reads all files, one after the other, as far as they are whole. The caller frees the report. */
int analyze_files(const struct analyze_settings *s, struct rd_report **report,
	struct analyze_faults *faults, struct rd_error *err);
/* Shows the progress on a terminal; of a source. */
void analyze_status(const char *doing, const char *name, uint64_t done, uint64_t size);
void analyze_progress(struct rd_source *source, const char *name);
void analyze_status_end(void);

/* --- captures of the same traffic (points.c) -------------------------------------------------- */

/* The files of one capture, in the order of time: one, or those of a series. */
struct analyze_point {
	char **files;
	unsigned int n;
	char *name; /* of the point: that of its first file, and how many follow */
};

/* Two captures with the same packets. */
struct analyze_pair {
	struct analyze_point points[RD_TAPS];
	unsigned int number[RD_TAPS]; /* of the points, among several */
	struct rd_ends_span span[RD_TAPS];
	bool spans_known;
	bool two_adapters;	    /* as their facts say */
	struct kept *kept;	    /* of all points; NULL: their files are read */
	bool same;		    /* have they? */
	struct rd_ends_start start; /* its addresses are freed by analyze_points_free() */
};

struct analyze_points {
	struct analyze_point *points;
	unsigned int n;
	char **files; /* of all points */
	struct analyze_pair *pairs;
	unsigned int n_pairs;
	bool undecided; /* as in struct rd_ends_start, of any pair */
	struct kept *kept;
};

struct analyze_outcome {
	struct rd_report *reports[RD_TAPS]; /* one, or two with `ends` */
	const char *names[RD_TAPS];
	struct rd_ends_report *ends;
	const struct rd_points *points; /* printed in place of the reports; NULL: none */
	struct analyze_faults faults;
};

/* The first one that is not a regular file and cannot be read twice; NULL: none. */
const char *analyze_not_a_file(const struct analyze_settings *s);
/* 1 if the files are two ends of the same traffic, 0 if not, -1 if one cannot be read. */
int analyze_is_ends(
	const struct analyze_settings *s, struct analyze_pair *pair, struct rd_error *err);
/*
 * Of more than two files: which are captures at several points, and which pairs of these have the
 * same packets. 1, 0 if no pair has: they are parts of one capture; -1 if one cannot be read.
 * Freed by analyze_points_free(), also after an error.
 */
int analyze_points_find(
	const struct analyze_settings *s, struct analyze_points *points, struct rd_error *err);
void analyze_points_free(struct analyze_points *points);

/* --- one report of several points (overview.c) ------------------------------------------------ */

/* Analyses each point, compares each pair, and prints all. */
int analyze_report_points(const struct analyze_settings *s, const struct analyze_points *points,
	struct analyze_faults *faults, struct rd_error *err);

/* --- two ends (ends.c) ------------------------------------------------------------------------ */

/*
 * Reads both side by side. Of captures whose reports are in *o, only the frames are compared. *o is
 * freed by the caller, also after an error.
 */
int analyze_ends(const struct analyze_settings *s, const struct analyze_pair *pair,
	struct analyze_outcome *o, struct rd_error *err);

/* --- directories (files.c) -------------------------------------------------------------------- */

/*
 * Replaces each directory among the files by the captures in it, in the order of their names.
 * Freed by analyze_files_free(), also after an error.
 */
int analyze_expand(struct analyze_settings *s, struct rd_error *err);
void analyze_files_free(struct analyze_settings *s);

/* --- a copy with comments (annotate.c) -------------------------------------------------------- */

/* Called before any work. 0 if the copy can be made, else -1 with the error. */
int analyze_check_annotate(const struct analyze_settings *s, struct rd_error *err);
/* Reads the files again and writes the copy. Does nothing without --annotate. */
int analyze_annotate(
	const struct analyze_settings *s, const struct rd_report *report, struct rd_error *err);

/* --- what each frame is counted as (marks.c) -------------------------------------------------- */

/* Called before any work. 0 if the list may be written, else -1 with the error. */
int analyze_check_marks(const struct analyze_settings *s, struct rd_error *err);
/* Writes the list. Does nothing without --marks. */
int analyze_marks(
	const struct analyze_settings *s, const struct rd_report *report, struct rd_error *err);

/* --- printing (print.c) ----------------------------------------------------------------------- */

/* Before any work: 0 if the page may be written. */
int analyze_check_page(const struct analyze_settings *s, struct rd_error *err);
void analyze_outcome_free(struct analyze_outcome *o);
/* Shows only the busiest conversations of a report, by --top. */
void analyze_limit(const struct analyze_settings *s, struct rd_report *report);
/* Prints text, JSON or a page, by the settings. */
int analyze_print(const struct analyze_settings *s, const struct analyze_outcome *outcome,
	struct rd_error *err);

/* Work on many files by several threads at once. */

struct job_kind {
	const char *doing; /* for the progress on a terminal */
	/* One piece of work, from any thread; 0, or -1 with the error. */
	int (*run)(void *ctx, unsigned int i, struct rd_error *err);
};

/* As many as the CPUs that this process may use. */
unsigned int jobs_default(void);
/* Whether this thread does such work now, whose progress is shown in pieces. */
bool jobs_working(void);
/* Does pieces 0 to n - 1. -1 with the error of the first that failed; some after it are left. */
int jobs_run(const struct job_kind *kind, void *ctx, unsigned int n, unsigned int threads,
	struct rd_error *err);
