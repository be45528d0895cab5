/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump analyze`: finds problems of RDMA traffic in capture files. */
#include "cli/command.h"
#include "analyze.h"
#include "cli/cli.h"
#include <errno.h>
#include <stdlib.h>

/* --- options ---------------------------------------------------------------------------------- */

/* Parses "2.5" into nanoseconds; *end points after it. */
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

static int set_time(const struct option_use *use, struct rd_error *err)
{
	struct analyze_settings *s = use->settings;
	char *end = (char *)(uintptr_t)use->arg;

	s->config.from_ns = 0;
	s->config.to_ns = UINT64_MAX;
	if ((*end == '-' || parse_seconds(use->arg, &end, &s->config.from_ns)) && *end == '-' &&
		(!end[1] || (parse_seconds(end + 1, &end, &s->config.to_ns) && !*end)) &&
		s->config.to_ns > s->config.from_ns)
		return 0;
	return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
		"--time: '%s' is not a range of seconds like 2.5-4, 10- or -3", use->arg);
}

static int set_json(const struct option_use *use, struct rd_error *err)
{
	struct analyze_settings *s = use->settings;

	(void)err;
	s->json = !use->arg || !strcmp(use->arg, "-");
	s->json_file = s->json ? NULL : use->arg;
	return 0;
}

#define OPTIONS_OF struct analyze_settings

static const struct cli_option options[] = {
	{"json", 0, "FILE",
		"Print the report as JSON; with =FILE: write it to FILE, and print the text",
		.set = set_json, .flags = OPT_OPTIONAL},
	{"html", 0, "FILE",
		"Write a page with plots and tables to FILE ('-' is standard output); it can be "
		"viewed offline",
		STRING(html)},
	{"ends", 0, "WHEN",
		"Compare two files as captures of both ends of a path: auto (if they contain the "
		"same packets), always or never",
		CHOICE(ends, "auto", "always", "never")},
	{"annotate", 0, "FILE",
		"Write a copy of the input to FILE ('-' is standard output), as pcapng, with the "
		"findings as comments on their frames, for Wireshark",
		STRING(annotate)},
	{"marks", 0, "FILE",
		"Write to FILE what each frame is counted as (retransmitted, late, a NAK), a line "
		"of JSON each",
		STRING(marks)},
	{"verbose", 'v', NULL, "Show all findings and conversations, with their numbers",
		MORE(style.verbose)},
	{"qp", 0, "QPN", "Show only conversations of this QP (decimal, or 0x...)",
		NUMBER(config.qp, 0, 0xffffff)},
	{"time", 0, "FROM-TO",
		"Analyse only frames of this time, in seconds since the first frame (2.5-4)",
		.set = set_time},
	{"top", 0, "N", "Show the N busiest conversations", NUMBER(style.top, 1, 1000000)},
	{"decap", 0, "WHEN",
		"Analyse the packets in tunnels (VXLAN, Geneve, GRE, ERSPAN, IP in IP, MPLS): auto "
		"(the default: each QP once, inside or outside of tunnels), always (both) or never",
		CHOICE(config.tunnels, "auto", "always", "never")},
	{"max-qps", 0, "N",
		"Analyse at most N QPs (default 65536); frames of others are only counted",
		NUMBER(config.max_qps, 1, 16000000)},
	{"jobs", 'j', "N",
		"Compare captures at several points with N threads (default: as many as the CPUs "
		"that may be used)",
		NUMBER(threads, 1, 256)},
	{"color", 0, "WHEN",
		"Show the severity of findings in colour: auto (the default: on a terminal, unless "
		"NO_COLOR is set), always or never",
		CHOICE(color, "auto", "always", "never")},
	{"no-icrc", 0, NULL, "Do not verify ICRCs", FLAG(config.skip_icrc)}, {0}};

static error_t parse_other(int key, char *arg, struct argp_state *state)
{
	struct analyze_settings *s = state->input;

	(void)arg;
	if (key == ARGP_KEY_NO_ARGS)
		rd_cli_usage_error(
			state->name, "no FILE: name one or more captures, '-' is standard input");
	if (key != ARGP_KEY_ARGS)
		return ARGP_ERR_UNKNOWN;
	s->files = state->argv + state->next;
	s->n_files = (unsigned int)(state->argc - state->next);
	return 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static int analyze(
	const struct analyze_settings *s, struct analyze_faults *faults, struct rd_error *err)
{
	struct analyze_outcome outcome;
	struct rd_report *report;
	struct rd_error failure;
	int annotated, ret = analyze_files(s, &report, faults, err);

	if (!ret) {
		faults->incomplete = report->incomplete;
		/* The report is printed even if the copy or the list fails. */
		annotated = analyze_annotate(s, report, &failure);
		if (!annotated)
			annotated = analyze_marks(s, report, &failure);
		outcome = (struct analyze_outcome){.reports = {report}, .names = {s->files[0]}};
		ret = analyze_print(s, &outcome, err);
		rd_report_free(report);
		if (!ret && annotated < 0) {
			*err = failure;
			ret = -1;
		}
	}
	return ret;
}

/* The frames of two ends are in two files. */
static int check_ends(
	const struct analyze_settings *s, const struct analyze_pair *pair, struct rd_error *err)
{
	if (!s->annotate && !s->marks)
		return 0;
	return rd_fail(err, RD_CLASS_USAGE, 0,
		"analyse each alone, or add --ends never to read one after the other",
		"%s: '%s' and '%s' are captures of two ends",
		s->annotate ? "--annotate" : "--marks", pair->points[RD_TAP_A].name,
		pair->points[RD_TAP_B].name);
}

static int report_ends(const struct analyze_settings *s, const struct analyze_pair *pair,
	struct analyze_faults *faults, struct rd_error *err)
{
	struct analyze_outcome o = {0};
	int ret = check_ends(s, pair, err) ? -1 : analyze_ends(s, pair, &o, err);

	*faults = o.faults;
	if (!ret && rd_ends_refer(o.ends, o.reports) < 0)
		ret = rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the report");
	if (!ret)
		ret = analyze_print(s, &o, err);
	analyze_outcome_free(&o);
	return ret;
}

static int report_files(
	struct analyze_settings *s, struct analyze_faults *faults, struct rd_error *err)
{
	struct analyze_points points;
	struct analyze_pair pair = {0};
	int ret = analyze_points_find(s, &points, err);

	if (ret > 0 && points.n > RD_TAPS) {
		ret = analyze_report_points(s, &points, faults, err);
	} else if (ret > 0) {
		ret = report_ends(s, points.pairs, faults, err);
	} else if (!ret) {
		ret = analyze_is_ends(s, &pair, err);
		s->config.may_be_ends = !ret && (points.undecided || pair.start.undecided);
		if (ret > 0)
			ret = report_ends(s, &pair, faults, err);
		else if (!ret)
			ret = analyze(s, faults, err);
	}
	analyze_points_free(&points);
	return ret;
}

/* Returns the exit status. */
static int run_files(struct analyze_settings *s)
{
	struct analyze_faults faults = {0};
	struct rd_error err;
	int ret;

	for (unsigned int i = 0; i < s->n_files; i++)
		rd_inputs_add(&s->inputs, s->files[i]);
	if (analyze_check_page(s, &err) < 0 || analyze_check_annotate(s, &err) < 0 ||
		analyze_check_marks(s, &err) < 0)
		return rd_cli_fail(&err);
	ret = report_files(s, &faults, &err);
	ret = ret < 0 ? rd_cli_fail(&err) : RD_CLASS_NONE;
	if (ret)
		return ret;
	if (faults.damaged)
		return RD_CLASS_PARTIAL;
	return faults.incomplete ? RD_CLASS_DEVICE : RD_CLASS_NONE;
}

static int run(struct analyze_settings *s)
{
	struct rd_error err;
	int status = analyze_expand(s, &err) < 0 ? rd_cli_fail(&err) : run_files(s);

	analyze_files_free(s);
	return status;
}

int rd_cmd_analyze(int argc, char **argv)
{
	static const struct argp argp = {.parser = parse_other,
		.args_doc = "FILE|DIRECTORY...",
		.doc = "Reports what happened to the RDMA traffic in capture files: conversations, "
		       "losses, retransmissions, NAKs, congestion, with frame numbers as evidence. "
		       "Several files (pcapng, pcap, ERF, also .gz and .zst; '-' is standard "
		       "input) are read one after the other, as parts of one capture. Two captures "
		       "that contain the same packets are compared as the two ends of a path; of "
		       "more, each pair with the same packets. A directory stands for the captures "
		       "in it."};
	struct analyze_settings s = {.config.qp = RD_QP_UNKNOWN, .threads = jobs_default()};

	if (rd_cli_read(options, &argp, argc, argv, &s))
		return RD_CLASS_USAGE;
	s.config.psn_plots = s.html;
	s.config.marks = s.marks;
	rd_cli_log(RD_LOG_WARNING);
	return run(&s);
}
