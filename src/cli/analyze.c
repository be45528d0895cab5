/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* `rdmadump analyze`: what the traffic in capture files did. */
#include "cli.h"
#include "parse.h"
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdmadump/analysis.h>
#include <rdmadump/source.h>
#include <rdmadump/units.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct settings {
	struct rd_analysis_config config;
	struct rd_report_style style;
	char **files;
	unsigned int n_files;
	bool json;
	const char *html; /* NULL: none */
};

enum { OPT_JSON = 0x100, OPT_HTML, OPT_QP, OPT_TIME, OPT_TOP, OPT_MAX_QPS, OPT_NO_ICRC };

static const struct argp_option options[] = {
	{"json", OPT_JSON, NULL, 0, "Print all of it as JSON", 0},
	{"html", OPT_HTML, "FILE", 0,
		"Write a page with plots and tables to FILE ('-' is standard output); it needs no "
		"network",
		0},
	{"verbose", 'v', NULL, 0, "All findings and conversations, with their numbers", 0},
	{"qp", OPT_QP, "QPN", 0, "Only conversations of this QP (decimal, or 0x...)", 0},
	{"time", OPT_TIME, "FROM-TO", 0,
		"Only frames of this time, in seconds since the first frame (2.5-4)", 0},
	{"top", OPT_TOP, "N", 0, "Show the N busiest conversations", 0},
	{"max-qps", OPT_MAX_QPS, "N", 0,
		"Follow at most N QPs (default 65536); frames of others are only counted", 0},
	{"no-icrc", OPT_NO_ICRC, NULL, 0, "Do not verify checksums", 0}, {0}};

/* --- options ------------------------------------------------------------------------------ */

/* "2.5" to nanoseconds; *end behind it. */
static bool parse_seconds(const char *text, char **end, uint64_t *ns)
{
	double s;

	errno = 0;
	s = strtod(text, end);
	if (*end == text || errno || !(s >= 0) || s > 1e9)
		return false;
	*ns = (uint64_t)(s * 1e9);
	return true;
}

static void parse_time(struct argp_state *state, const char *arg, struct settings *s)
{
	char *end = (char *)arg;

	s->config.from_ns = 0;
	s->config.to_ns = UINT64_MAX;
	if ((*arg == '-' || parse_seconds(arg, &end, &s->config.from_ns)) && *end == '-' &&
		(!end[1] || (parse_seconds(end + 1, &end, &s->config.to_ns) && !*end)) &&
		s->config.to_ns > s->config.from_ns)
		return;
	argp_error(state,
		"--time: '%s' is no time from one second to a later one, like 2.5-4, 10- or -3",
		arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct settings *s = state->input;
	uint64_t n;

	switch (key) {
	case OPT_JSON:
		s->json = true;
		return 0;
	case OPT_HTML:
		s->html = arg;
		return 0;
	case 'v':
		s->style.verbose++;
		return 0;
	case OPT_QP:
		parse_number(state, "--qp", arg, 0, 0xffffff, &n);
		s->config.qp = (uint32_t)n;
		return 0;
	case OPT_TIME:
		parse_time(state, arg, s);
		return 0;
	case OPT_TOP:
		parse_number(state, "--top", arg, 1, 1000000, &n);
		s->style.top = (unsigned int)n;
		return 0;
	case OPT_MAX_QPS:
		parse_number(state, "--max-qps", arg, 1, 16000000, &n);
		s->config.max_qps = (size_t)n;
		return 0;
	case OPT_NO_ICRC:
		s->config.skip_icrc = true;
		return 0;
	case ARGP_KEY_ARGS:
		s->files = state->argv + state->next;
		s->n_files = (unsigned int)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no FILE: name one or more captures, '-' is standard input");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- reading ------------------------------------------------------------------------------ */

#define STATUS_BATCHES 4096 /* between two looks at how far it is */

static void show_progress(struct rd_source *source, const char *name)
{
	uint64_t done = 0, size = 0;
	char line[160];

	if (!isatty(STDERR_FILENO))
		return;
	source->ops->progress(source, &done, &size);
	if (!size)
		return;
	snprintf(line, sizeof(line), "  reading %.100s: %u %%", name,
		(unsigned int)(100.0 * (double)done / (double)size));
	rd_cli_status(line);
}

static void hide_progress(void)
{
	rd_cli_status(NULL);
}

static void take_notes(struct rd_analysis *a, struct rd_source *source, unsigned int n)
{
	struct rd_note note;

	for (unsigned int i = 0; i < n; i++)
		if (source->ops->note(source, i, &note) && note.dropped)
			rd_analysis_dropped(a, note.dropped);
}

/* Frames until the end; 0, or -1 after a fault. */
static int read_frames(
	struct rd_analysis *a, struct rd_source *source, const char *name, struct rd_error *err)
{
	struct rd_frame frames[RD_BATCH];
	uint64_t batches = 0;
	int n;

	while ((n = source->ops->receive(source, frames, RD_BATCH, err)) >= 0) {
		if (!n) {
			struct pollfd fd = {.fd = source->frame_fd, .events = POLLIN};

			if (source->ops->arm(source, err) == 0)
				poll(&fd, 1, -1);
			continue;
		}
		if (source->batch_has_notes)
			take_notes(a, source, (unsigned int)n);
		rd_analysis_frames(a, source->iface.link, frames, (unsigned int)n);
		source->ops->release(source);
		if (++batches % STATUS_BATCHES == 0)
			show_progress(source, name);
	}
	hide_progress();
	return n == RD_SOURCE_END ? 0 : -1;
}

/* The format's name is the first word of what the source says of itself. */
static void format_of(const struct rd_source *source, char format[16])
{
	snprintf(format, 16, "%.*s", (int)strcspn(source->details, " ,"), source->details);
}

/* A file that is damaged is analysed as far as it goes: *partial. */
static int read_file(struct rd_analysis *a, const char *path, bool *partial, struct rd_error *err)
{
	const struct rd_file_config config = {.path = path};
	struct rd_source_stats stats;
	struct rd_source *source;
	char format[16];
	int ret;

	if (rd_file_open(&source, &config, err) < 0)
		return -1;
	format_of(source, format);
	ret = rd_analysis_file(a, path, format, source->section, err);
	if (!ret && source->ops->start(source, err) == 0) {
		bool damaged = read_frames(a, source, path, err) < 0;

		source->ops->stop(source);
		source->ops->stats(source, &stats);
		rd_analysis_file_end(a, stats.lost, stats.loss_known, damaged ? err->text : NULL);
		*partial |= damaged;
	}
	source->ops->close(source);
	return ret;
}

/* --- the command -------------------------------------------------------------------------- */

static int print_json(const struct rd_report *report)
{
	json_t *json = rd_report_json(report);
	int ret = json ? json_dumpf(json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : -1;

	json_decref(json);
	putchar('\n');
	return ret;
}

/* A page that could not be written whole is taken away again. */
static int write_page(const struct rd_report *report, const char *path, struct rd_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	int ret;

	if (!out)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, "name a file that can be written",
			"--html: cannot open '%s'", path);
	errno = 0;
	ret = rd_report_html(report, out);
	if (fclose(out) || ret) {
		int why = errno ? errno : ENOMEM;
		struct stat st;

		if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
			unlink(path);
		return rd_fail(err, RD_CLASS_OUTPUT, why, "make room or name another file",
			"--html: cannot write '%s'", path);
	}
	return 0;
}

static unsigned int terminal_columns(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

static int print_report(struct rd_analysis *a, struct settings *s, struct rd_error *err)
{
	struct rd_report *report;
	int ret = 0;

	if (rd_analysis_report(a, &report, err) < 0)
		return -1;
	if (s->style.top && s->style.top < report->n_shown)
		report->n_shown = s->style.top;
	s->style.columns = terminal_columns();
	errno = 0;
	if (s->html && strcmp(s->html, "-") != 0 && write_page(report, s->html, err) < 0) {
		rd_report_free(report);
		return -1;
	}
	if (s->html && strcmp(s->html, "-") == 0)
		ret = rd_report_html(report, stdout);
	else if (s->json)
		ret = print_json(report);
	else
		rd_report_text(report, &s->style, stdout);
	rd_report_free(report);
	if (ret || fflush(stdout) || ferror(stdout))
		return rd_fail(err, RD_CLASS_OUTPUT, errno ? errno : ENOMEM, NULL,
			"cannot write the report to standard output");
	return 0;
}

static int analyze(struct settings *s, bool *partial, struct rd_error *err)
{
	struct rd_analysis *a;
	int ret = 0;

	if (rd_analysis_open(&a, &s->config, err) < 0)
		return -1;
	for (unsigned int i = 0; i < s->n_files && !ret; i++)
		ret = read_file(a, s->files[i], partial, err);
	if (!ret)
		ret = print_report(a, s, err);
	rd_analysis_close(a);
	return ret;
}

int rd_cmd_analyze(int argc, char **argv)
{
	static const struct argp argp = {.options = options,
		.parser = parse_option,
		.args_doc = "FILE...",
		.doc = "Tells what the RDMA traffic in capture files did: conversations, losses, "
		       "retransmissions, refusals, congestion, with frame numbers as evidence. "
		       "Files (pcapng, pcap, ERF, also .gz and .zst; '-' is standard input) are "
		       "read one behind the other, as the parts of one capture."};
	struct settings s = {.config.qp = RD_QP_UNKNOWN};
	bool partial = false;
	struct rd_error err;

	if (argp_parse(&argp, argc, argv, 0, NULL, &s))
		return RD_CLASS_USAGE;
	rd_cli_log(RD_LOG_WARNING);
	if (analyze(&s, &partial, &err) < 0)
		return rd_cli_fail(&err);
	return partial ? RD_CLASS_PARTIAL : RD_CLASS_NONE;
}
