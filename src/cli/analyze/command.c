/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump analyze`: finds problems of RDMA traffic in capture files. */
#include "../command.h"
#include "../cli.h"
#include "../parse.h"
#include "analyze.h"
#include <argp.h>
#include <errno.h>
#include <rdmadump/bundle.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_JSON = 0x100,
	OPT_HTML,
	OPT_ENDS,
	OPT_QP,
	OPT_TIME,
	OPT_TOP,
	OPT_MAX_QPS,
	OPT_NO_ICRC,
	OPT_ANNOTATE,
	OPT_COMPARE,
	OPT_INTERVAL,
	OPT_OPCODES,
	OPT_BUNDLE,
	OPT_COLOR
};

static const struct argp_option options[] = {
	{"json", OPT_JSON, NULL, 0, "Print the report as JSON", 0},
	{"html", OPT_HTML, "FILE", 0,
		"Write a page with plots and tables to FILE ('-' is standard output); it can be "
		"viewed offline",
		0},
	{"ends", OPT_ENDS, "WHEN", 0,
		"Compare two files as captures of both ends of a path: auto (if they contain the "
		"same "
		"packets), always or never",
		0},
	{"annotate", OPT_ANNOTATE, "FILE", 0,
		"Write a copy of the input to FILE ('-' is standard output), as pcapng, with the "
		"findings as comments on their frames, for Wireshark",
		0},
	{"compare", OPT_COMPARE, "FILE", 0,
		"Print what changed since FILE, the output of an earlier --json: findings, rates, "
		"losses, latencies",
		0},
	{"verbose", 'v', NULL, 0, "Show all findings and conversations, with their numbers", 0},
	{"qp", OPT_QP, "QPN", 0, "Show only conversations of this QP (decimal, or 0x...)", 0},
	{"time", OPT_TIME, "FROM-TO", 0,
		"Analyse only frames of this time, in seconds since the first frame (2.5-4)", 0},
	{"top", OPT_TOP, "N", 0, "Show the N busiest conversations", 0},
	{"decap", 'E', "WHEN", OPTION_ARG_OPTIONAL,
		"Analyse the packets in tunnels (VXLAN, Geneve, GRE, ERSPAN, IP in IP, MPLS): auto "
		"(each QP once: inside or outside of tunnels), always (both; the default of "
		"--decap without WHEN) or never",
		0},
	{"max-qps", OPT_MAX_QPS, "N", 0,
		"Analyse at most N QPs (default 65536); frames of others are only counted", 0},
	{"interval", OPT_INTERVAL, "SECONDS", 0,
		"Print a table of all traffic in intervals of this length: frames, bytes, rate, "
		"retransmissions, NAKs, RNR NAKs, CNPs, CE marks",
		0},
	{"opcodes", OPT_OPCODES, NULL, 0, "Print a table of packets and bytes by opcode", 0},
	{"color", OPT_COLOR, "WHEN", 0,
		"Show the severity of findings in colour: auto (the default: on a terminal, unless "
		"NO_COLOR is set), always or never",
		0},
	{"no-icrc", OPT_NO_ICRC, NULL, 0, "Do not verify ICRCs", 0},
	{"bundle", OPT_BUNDLE, "FILE", 0, "Analyse the captures in a bundle (rdmadump-bundle(1))",
		0},
	{0}};

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

static void parse_time(struct argp_state *state, const char *arg, struct analyze_settings *s)
{
	char *end = (char *)arg;

	s->config.from_ns = 0;
	s->config.to_ns = UINT64_MAX;
	if ((*arg == '-' || parse_seconds(arg, &end, &s->config.from_ns)) && *end == '-' &&
		(!end[1] || (parse_seconds(end + 1, &end, &s->config.to_ns) && !*end)) &&
		s->config.to_ns > s->config.from_ns)
		return;
	rd_cli_usage_error(
		state->name, "--time: '%s' is not a range of seconds like 2.5-4, 10- or -3", arg);
}

static void parse_interval(struct argp_state *state, const char *arg, struct analyze_settings *s)
{
	char *end;

	if (parse_seconds(arg, &end, &s->config.interval_ns) && !*end && s->config.interval_ns)
		return;
	rd_cli_usage_error(state->name,
		"--interval: '%s' is not a number of seconds from 0.000000001 to 1000000000", arg);
}

static enum analyze_when parse_when(struct argp_state *state, const char *option, const char *arg)
{
	static const char *const names[] = {"auto", "always", "never"};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(arg, names[i]))
			return (enum analyze_when)i;
	rd_cli_usage_error(state->name, "%s: '%s' is not one of auto, always, never", option, arg);
	return WHEN_AUTO;
}

static enum rd_tunnels tunnels_of(enum analyze_when when)
{
	static const enum rd_tunnels tunnels[] = {[WHEN_AUTO] = RD_TUNNELS_AUTO,
		[WHEN_ALWAYS] = RD_TUNNELS_ALWAYS,
		[WHEN_NEVER] = RD_TUNNELS_NEVER};

	return tunnels[when];
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct analyze_settings *s = state->input;
	uint64_t n;

	switch (key) {
	case OPT_JSON:
		s->json = true;
		return 0;
	case OPT_HTML:
		s->html = arg;
		s->config.psn_plots = true;
		return 0;
	case OPT_COMPARE:
		s->compare = arg;
		return 0;
	case OPT_ANNOTATE:
		s->annotate = arg;
		return 0;
	case OPT_ENDS:
		s->ends = parse_when(state, "--ends", arg);
		return 0;
	case OPT_COLOR:
		s->color = parse_when(state, "--color", arg);
		return 0;
	case 'E':
		s->config.tunnels =
			tunnels_of(arg ? parse_when(state, "--decap", arg) : WHEN_ALWAYS);
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
	case OPT_INTERVAL:
		parse_interval(state, arg, s);
		return 0;
	case OPT_OPCODES:
		s->config.opcodes = true;
		return 0;
	case OPT_NO_ICRC:
		s->config.skip_icrc = true;
		return 0;
	case OPT_BUNDLE:
		s->bundle = arg;
		return 0;
	case ARGP_KEY_ARGS:
		if (s->bundle)
			rd_cli_usage_error(state->name,
				"unexpected argument '%s': --bundle has the captures",
				state->argv[state->next]);
		s->files = state->argv + state->next;
		s->n_files = (unsigned int)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (s->bundle)
			return 0;
		rd_cli_usage_error(
			state->name, "no FILE: name one or more captures, '-' is standard input");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A file that is damaged is analysed as far as it goes. */
static int read_file(struct rd_analysis *a, const char *path, struct analyze_faults *faults,
	struct rd_error *err)
{
	struct rd_source *source;
	bool damaged;

	if (analyze_open(&source, a, path, err) < 0)
		return -1;
	damaged = analyze_read(a, source, path, err) < 0;
	analyze_close(source, a, damaged ? err->text : NULL);
	faults->damaged |= damaged;
	return 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static int read_all(const struct analyze_settings *s, struct rd_report **report,
	struct analyze_faults *faults, struct rd_error *err)
{
	struct rd_analysis *a;
	int ret = 0;

	*faults = (struct analyze_faults){0};
	if (rd_analysis_open(&a, &s->config, err) < 0)
		return -1;
	for (unsigned int i = 0; i < s->n_files && !ret; i++)
		ret = read_file(a, s->files[i], faults, err);
	if (!ret)
		ret = rd_analysis_report(a, report, err);
	rd_analysis_close(a);
	return ret;
}

/* The report, or what changed since the former one. */
static int print(const struct analyze_settings *s, const struct rd_snapshot *former,
	struct rd_report *report, struct rd_error *err)
{
	struct analyze_outcome outcome = {.reports = {report}, .names = {s->files[0]}};
	struct rd_snapshot *present = NULL;
	struct rd_changes *changes = NULL;
	int ret = 0;

	if (former)
		ret = analyze_changes(former, report, &present, &changes, err);
	outcome.changes = changes;
	if (!ret)
		ret = analyze_print(s, &outcome, err);
	rd_changes_free(changes);
	rd_snapshot_free(present);
	return ret;
}

static int analyze(const struct analyze_settings *s, const struct rd_snapshot *former,
	struct analyze_faults *faults, struct rd_error *err)
{
	struct rd_report *report;
	struct rd_error failure;
	int annotated, ret = read_all(s, &report, faults, err);

	if (!ret) {
		faults->incomplete = report->incomplete;
		/* The report is printed even if the copy fails. */
		annotated = analyze_annotate(s, report, &failure);
		ret = print(s, former, report, err);
		rd_report_free(report);
		if (!ret && annotated < 0) {
			*err = failure;
			ret = -1;
		}
	}
	return ret;
}

/* Two ends are already a comparison, and their frames are in two files. */
static int check_ends(const struct analyze_settings *s, struct rd_error *err)
{
	if (!s->annotate && !s->compare)
		return 1;
	return rd_fail(err, RD_CLASS_USAGE, 0,
		"analyse each alone, or add --ends never to read one after the other",
		"%s: '%s' and '%s' are captures of two ends",
		s->annotate ? "--annotate" : "--compare", s->files[0], s->files[1]);
}

/* Captures at several points: read one after the other, each packet would be there several times.
 */
static int report_points(const struct analyze_settings *s, struct analyze_pair *pairs,
	unsigned int n, struct analyze_faults *faults, struct rd_error *err)
{
	int ret = 0;

	if (s->html || s->annotate || s->compare)
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"give two of them, or add --ends never to read one after the other",
			"'%s' and '%s' have the same packets: these look like captures at several "
			"points",
			pairs[0].files[RD_TAP_A], pairs[0].files[RD_TAP_B]);
	if (!s->json)
		printf("These look like captures at several points: %u pair%s of the files %s the "
		       "same packets.\nEach pair is judged as two ends. --ends never reads all "
		       "files "
		       "one after the other.\n",
			n, rd_plural(n), n == 1 ? "has" : "have");
	for (unsigned int i = 0; i < n && !ret; i++) {
		struct analyze_settings two = *s;

		two.files = pairs[i].files;
		two.n_files = RD_TAPS;
		if (!s->json) {
			fputs("\n==== ", stdout);
			rd_printable_put(stdout, two.files[RD_TAP_A], SIZE_MAX);
			fputs(" and ", stdout);
			rd_printable_put(stdout, two.files[RD_TAP_B], SIZE_MAX);
			fputs("\n\n", stdout);
		}
		ret = analyze_ends(&two, &pairs[i].common, faults, err);
	}
	return ret;
}

static int report_files(const struct analyze_settings *s, const struct rd_snapshot *former,
	struct analyze_faults *faults, struct rd_error *err)
{
	struct analyze_pair pairs[ANALYZE_PAIRS];
	struct analyze_common common;
	int ends = analyze_points(s, pairs, err);

	if (ends)
		return ends < 0 ? -1 : report_points(s, pairs, (unsigned int)ends, faults, err);
	ends = analyze_is_ends(s, &common, err);
	if (ends > 0)
		ends = check_ends(s, err);
	if (ends < 0)
		return -1;
	return ends ? analyze_ends(s, &common, faults, err) : analyze(s, former, faults, err);
}

/* Returns the exit status. */
static int run(const struct analyze_settings *s)
{
	struct rd_snapshot *former = NULL;
	struct analyze_faults faults = {0};
	struct rd_error err;
	int ret;

	if (analyze_check_page(s, &err) < 0 || analyze_check_annotate(s, &err) < 0 ||
		analyze_read_former(s, &former, &err) < 0)
		return rd_cli_fail(&err);
	ret = report_files(s, former, &faults, &err);
	rd_snapshot_free(former);
	ret = ret < 0 ? rd_cli_fail(&err) : RD_CLASS_NONE;
	if (ret)
		return ret;
	if (faults.damaged)
		return RD_CLASS_PARTIAL;
	return faults.incomplete ? RD_CLASS_DEVICE : RD_CLASS_NONE;
}

/* The absolute path of a user's file, valid in any working directory; NULL for NULL. */
static char *from_here(const char *path)
{
	char *here, *full;

	if (!path || path[0] == '/' || strcmp(path, "-") == 0)
		return path ? strdup(path) : NULL;
	here = getcwd(NULL, 0);
	if (!here || asprintf(&full, "%s/%s", here, path) < 0)
		full = NULL;
	free(here);
	return full;
}

/*
 * Works in the bundle's directory, so that reports and messages have names of members, not of
 * temporary files.
 */
static int enter_bundle(struct analyze_settings *s, struct rd_bundle *b, struct rd_error *err)
{
	size_t above = strlen(b->directory) + 1;

	if (chdir(b->directory) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "'%s'", b->directory);
	for (unsigned int i = 0; i < b->n_captures; i++)
		memmove(b->captures[i], b->captures[i] + above, strlen(b->captures[i] + above) + 1);
	s->files = b->captures;
	s->n_files = b->n_captures;
	return 0;
}

static int run_bundle(struct analyze_settings *s)
{
	char *html = from_here(s->html), *compare = from_here(s->compare);
	char *annotate = from_here(s->annotate);
	struct rd_bundle bundle;
	struct rd_error err;
	int status;

	if ((s->html && !html) || (s->compare && !compare) || (s->annotate && !annotate)) {
		rd_fail(&err, RD_CLASS_DEVICE, ENOMEM, NULL, "--bundle '%s'", s->bundle);
		status = rd_cli_fail(&err);
	} else if (rd_bundle_open(&bundle, s->bundle, RD_BUNDLE_CAPTURES, &err) < 0) {
		status = rd_cli_fail(&err);
	} else {
		s->html = html;
		s->compare = compare;
		s->annotate = annotate;
		status = enter_bundle(s, &bundle, &err) < 0 ? rd_cli_fail(&err) : run(s);
		rd_bundle_close(&bundle);
	}
	free(html);
	free(compare);
	free(annotate);
	return status;
}

int rd_cmd_analyze(int argc, char **argv)
{
	static const struct argp argp = {.options = options,
		.parser = parse_option,
		.args_doc = "FILE...\n--bundle FILE",
		.doc = "Reports what happened to the RDMA traffic in capture files: conversations, "
		       "losses, retransmissions, NAKs, congestion, with frame numbers as evidence. "
		       "Several files (pcapng, pcap, ERF, also .gz and .zst; '-' is standard "
		       "input) are read one after the other, as parts of one capture. Two captures "
		       "that contain the same packets are compared as the two ends of a path; of "
		       "more, "
		       "each pair with the same packets."};
	struct analyze_settings s = {.config.qp = RD_QP_UNKNOWN};

	if (rd_cli_parse(&argp, argc, argv, 0, &s))
		return RD_CLASS_USAGE;
	rd_cli_log(RD_LOG_WARNING);
	return s.bundle ? run_bundle(&s) : run(&s);
}
