/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `analyze --annotate`: a copy of the input with the findings as comments on their frames. */
#include "analyze.h"
#include "cli/cli.h"
#include "config.h"
#include <errno.h>
#include <rdmadump/document.h>
#include <rdmadump/fd.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define OPTION "--annotate"

static bool to_stdout(const struct analyze_settings *s)
{
	return strcmp(s->annotate, "-") == 0;
}

static bool is_compressed_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".gz") == 0 || strcmp(dot, ".zst") == 0);
}

static int check_stdout(const struct analyze_settings *s, struct rd_error *err)
{
	if (s->json || (s->html && !strcmp(s->html, "-")))
		return rd_fail(err, RD_CLASS_USAGE, 0, "give the copy a file name",
			OPTION " -: the report goes to standard output, too");
	if (isatty(STDOUT_FILENO))
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"give a file, or another program: rdmadump analyze " OPTION
			" - FILE | tshark -r -",
			OPTION " -: standard output is a terminal");
	if (rd_inputs_have_fd(&s->inputs, STDOUT_FILENO))
		return rd_fail(err, RD_CLASS_USAGE, 0, "give the copy another name",
			OPTION " -: standard output is a file that is read");
	return 0;
}

int analyze_check_annotate(const struct analyze_settings *s, struct rd_error *err)
{
	const char *odd;

	if (!s->annotate)
		return 0;
	odd = analyze_not_a_file(s);
	if (odd)
		return rd_fail(err, RD_CLASS_USAGE, 0, "save it to a file first",
			OPTION ": '%s' is not a regular file, and the input is read twice", odd);
	if (is_compressed_name(s->annotate))
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"name it *.pcapng, and compress it afterwards",
			OPTION " '%s': the copy is not compressed", s->annotate);
	return to_stdout(s) ? check_stdout(s, err)
			    : report_file_check(s->annotate, OPTION, &s->inputs, err);
}

static int put(void *out, const void *data, size_t len)
{
	return !rd_cli_ended && fwrite(data, 1, len, out) == len ? 0 : -1;
}

static void progress(void *ctx, uint64_t done, uint64_t size)
{
	analyze_status("writing", ctx, done, size);
}

/* A file that is damaged is copied as far as it was analysed. */
static int copy_file(
	struct rd_annotation *a, const struct rd_report_file *file, struct rd_error *err)
{
	uint64_t before = a->frames;

	if (rd_annotate_file(a, file->name, err) < 0)
		return -1;
	if (a->frames - before >= file->frames)
		return 0;
	return rd_fail(err, RD_CLASS_PARTIAL, 0, "analyse it again when nothing writes to it",
		OPTION ": '%s' changed while it was read", file->name);
}

static int copy_all(struct rd_annotation *a, const struct rd_report *report, struct rd_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < report->n_files && !ret; i++)
		ret = copy_file(a, &report->files[i], err);
	rd_cli_status(NULL);
	return ret;
}

/* Not stdout, which escapes control characters. */
static int copy_to_stdout(
	struct rd_annotation *a, const struct rd_report *report, struct rd_error *err)
{
	int ret, fd = dup(STDOUT_FILENO);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "wb");

	if (!out) {
		rd_fd_close(&fd);
		return rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, OPTION " -");
	}
	a->put_ctx = out;
	ret = copy_all(a, report, err);
	if (fclose(out) && !ret)
		ret = rd_stdout_check(errno, err);
	/* The reader has what it wanted. */
	return ret < 0 && rd_cli_is_closed_pipe(err) ? 0 : ret;
}

static int copy_to_file(struct rd_annotation *a, const struct analyze_settings *s,
	const struct rd_report *report, struct rd_error *err)
{
	FILE *out = report_file_open(s->annotate, OPTION, &s->inputs, true, err);
	struct rd_error unwritten;
	int ret;

	if (!out)
		return -1;
	a->put_ctx = out;
	rd_cli_catch_ending((int)SA_RESETHAND);
	ret = copy_all(a, report, err);
	if (ret < 0 && rd_cli_ended)
		rd_fail(err, RD_CLASS_PARTIAL, 0, NULL,
			OPTION " '%s': interrupted: no copy was written", s->annotate);
	if (report_file_close(out, s->annotate, OPTION, ret == 0, &unwritten) < 0 && !ret) {
		*err = unwritten;
		ret = -1;
	}
	return ret;
}

static void say(const struct analyze_settings *s, const struct rd_annotation *a)
{
	char line[320];

	snprintf(line, sizeof(line),
		"comments of the analysis on %llu of the frames in '%.200s' (%llu)",
		(unsigned long long)a->noted, s->annotate, (unsigned long long)a->frames);
	rd_cli_say("rdmadump: ", line);
	if (a->too_big)
		rd_log(RD_LOG_WARNING,
			OPTION
			" '%s': %llu frame%s too long to get the comments: no reader accepts "
			"larger blocks",
			s->annotate, (unsigned long long)a->too_big, rd_plural(a->too_big));
}

int analyze_annotate(
	const struct analyze_settings *s, const struct rd_report *report, struct rd_error *err)
{
	struct rd_annotation a = {.application = rd_program(),
		.text = rd_report_comment,
		.text_ctx = report,
		.put = put,
		.progress = progress,
		.progress_ctx = (void *)(uintptr_t)s->annotate};
	struct rd_comment *comments;
	int ret;

	if (!s->annotate)
		return 0;
	if (rd_report_comments(report, &comments, &a.n_comments, err) < 0)
		return -1;
	a.comments = comments;
	ret = to_stdout(s) ? copy_to_stdout(&a, report, err) : copy_to_file(&a, s, report, err);
	free(comments);
	if (!ret)
		say(s, &a);
	return ret;
}
