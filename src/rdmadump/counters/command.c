/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump counters`: every counter of a port: read, compared, explained, exported. */
#include "cli/command.h"
#include "../commands.h"
#include "counters.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <rdmadump/identity.h>
#include <rdmadump/program.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL_MAX 86400.0

static int set_interval(const struct option_use *use, struct rd_error *err)
{
	double *interval = option_field(use);
	char *end;

	errno = 0;
	*interval = strtod(use->arg, &end);
	if (!errno && !*end && end != use->arg && *interval >= 0.01 && *interval <= INTERVAL_MAX)
		return 0;
	return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
		"--interval: '%s' is not a number of seconds from 0.01 to 86400", use->arg);
}

/* The program that explains everything else, too. */
static int explain(const struct counters_options *o, struct rd_error *err)
{
	char path[PATH_MAX];

	if (rd_program_find(path, "rdmadump-explain", err) < 0)
		return -1;
	if (o->json)
		execl(path, "explain", "--json", "--", o->explain, (char *)NULL);
	else
		execl(path, "explain", "--", o->explain, (char *)NULL);
	return rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "cannot run '%s'", path);
}

static int set_json(const struct option_use *use, struct rd_error *err)
{
	struct counters_options *o = use->settings;

	(void)err;
	o->json = !use->arg || !strcmp(use->arg, "-");
	o->json_file = o->json ? NULL : use->arg;
	return 0;
}

#define OPTIONS_OF struct counters_options

static const struct cli_option options[] = {
	{"all", 0, NULL, "Also show counters that are zero or did not change", FLAG(all)},
	{"interval", 0, "SECONDS", "Read periodically; show changes and rates", .set = set_interval,
		FIELD(interval)},
	{"count", 0, "N", "Stop after N intervals", NUMBER(count, 1, UINT64_MAX)},
	{"diff", 0, NULL, "Compare two files written with --json: --diff BEFORE AFTER", FLAG(diff)},
	{"explain", 0, "NAME", "Say what a counter means, and its growth", STRING(explain)},
	{"json", 0, "FILE",
		"Print JSON; with =FILE: write every counter as JSON to FILE, and print the text",
		.set = set_json, .flags = OPT_OPTIONAL},
	{"prometheus", 0, NULL, "Print in Prometheus text format", FLAG(prometheus)},
	{"output", 'o', "FILE",
		"Write to FILE, replacing it atomically when complete (for node_exporter's "
		"textfile collector)",
		STRING(output)},
	SYSROOT_OPTION(""), {0}};

static error_t parse_word(struct argp_state *state, struct counters_options *o, const char *arg)
{
	if (o->diff && !o->before)
		o->before = arg;
	else if (o->diff && !o->after)
		o->after = arg;
	else if (!o->wanted && !o->diff)
		o->wanted = arg;
	else
		rd_cli_usage_error(state->name, "unexpected argument '%s'", arg);
	return 0;
}

static void check_together(struct argp_state *state, const struct counters_options *o)
{
	if (o->explain && (o->wanted || o->diff || o->all || o->prometheus || o->output ||
				  o->json_file || o->interval > 0 || *o->sysroot))
		rd_cli_usage_error(state->name, "--explain: only --json goes with it");
	if (o->diff && o->prometheus)
		rd_cli_usage_error(state->name, "--diff and --prometheus exclude each other");
	if (o->diff && !o->after)
		rd_cli_usage_error(state->name, "--diff needs two files: --diff BEFORE AFTER");
	if ((o->json || o->json_file) && o->prometheus)
		rd_cli_usage_error(state->name, "--json and --prometheus exclude each other");
	if (o->diff && (o->interval > 0 || *o->sysroot))
		rd_cli_usage_error(state->name, "--interval, --sysroot: --diff reads no device");
	if (o->count && o->interval <= 0)
		rd_cli_usage_error(state->name, "--count counts intervals: give --interval too");
	if (o->output && o->json_file)
		rd_cli_usage_error(state->name, "-o and --json=FILE: give one of them");
	if (o->output && o->interval > 0 && !o->prometheus)
		rd_cli_usage_error(state->name,
			"-o with --interval: only --prometheus replaces a file each time");
}

static error_t parse_other(int key, char *arg, struct argp_state *state)
{
	if (key == ARGP_KEY_ARG)
		return parse_word(state, state->input, arg);
	if (key == ARGP_KEY_END)
		check_together(state, state->input);
	return ARGP_ERR_UNKNOWN;
}

/* --- output ---------------------------------------------------------------------------------- */

static int show(
	FILE *out, const struct readings *r, const struct counters_options *o, struct rd_error *err)
{
	int ret = 0;

	errno = 0;
	if (o->prometheus)
		ret = counters_prometheus(out, r);
	else if (o->json)
		ret = counters_json(out, r, o->all || o->interval <= 0, o->interval > 0 ? 0 : 2);
	else
		counters_print(out, r, o);
	if (!ret && !fflush(out) && !ferror(out))
		return 0;
	if (!o->output)
		return rd_stdout_check(errno ? errno : ENOMEM, err);
	return rd_fail(err, RD_CLASS_OUTPUT, errno ? errno : ENOMEM,
		"free some space or name another file", "cannot write the counters to '%s'",
		o->output);
}

/* For rd_outfile_replace(). */
struct delivery {
	const struct readings *r;
	const struct counters_options *o;
};

static int show_delivery(void *ctx, FILE *out, struct rd_error *err)
{
	const struct delivery *d = ctx;

	return show(out, d->r, d->o, err);
}

/* Uses the rights of the user who called sudo: the directory may be that user's. */
static int deliver(const struct readings *r, const struct counters_options *o, struct rd_error *err)
{
	struct delivery delivery = {r, o};
	struct rd_identity_before before;
	struct rd_identity id;
	int ret;

	if (o->json_out && counters_json(o->json_out, r, true, o->interval > 0 ? 0 : 2) < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno ? errno : ENOMEM,
			"free some space or name another file", "--json: cannot write '%s'",
			o->json_file);
	if (!o->output)
		return show(stdout, r, o, err);
	if (rd_identity_choose(&id, NULL, err) < 0 || rd_identity_assume(&id, &before, err) < 0)
		return -1;
	ret = rd_outfile_replace(o->output, show_delivery, &delivery, err);
	rd_identity_resume(&before);
	return ret;
}

/* --- modes ------------------------------------------------------------------------------------ */

static int run_once(
	const struct ports *ports, const struct counters_options *o, struct rd_error *err)
{
	struct readings r;
	int ret = readings_take(&r, ports, o, err);

	if (ret == 0)
		ret = readings_compare(NULL, &r, err);
	if (ret == 0)
		ret = deliver(&r, o, err);
	readings_free(&r);
	return ret;
}

static int run_interval(
	const struct ports *ports, const struct counters_options *o, struct rd_error *err)
{
	struct readings before, now;
	uint64_t next = rd_monotonic_ns(), step;
	sigset_t let_in;
	int ret;

	rd_cli_hold_ending(&let_in);
	ret = readings_take(&before, ports, o, err);
	/* Text and JSON show growth only, which a first reading lacks. Prometheus needs values. */
	if (ret == 0 && o->prometheus)
		ret = deliver(&before, o, err);
	if (ret)
		return ret;
	step = counters_step(&before, o->interval);
	/* A signal ends the interval that it comes in. */
	for (uint64_t i = 0; ret == 0 && !rd_cli_ended && (!o->count || i < o->count); i++) {
		next += step;
		while (!rd_cli_ended && rd_monotonic_ns() < next)
			rd_cli_wait(NULL, next, &let_in);
		if (rd_monotonic_ns() - (next - step) < counters_step(&before, 0))
			break;
		ret = readings_take(&now, ports, o, err);
		if (ret)
			break;
		ret = readings_compare(&before, &now, err);
		if (ret == 0)
			ret = deliver(&now, o, err);
		readings_free(&before);
		before = now;
	}
	readings_free(&before);
	return ret;
}

static int run_diff(const struct counters_options *o, struct rd_error *err)
{
	struct readings before = {0}, after = {0};
	int ret = counters_json_read(&before, o->before, err);

	if (ret == 0)
		ret = counters_json_read(&after, o->after, err);
	if (ret == 0)
		ret = readings_check(&before, &after, o, err);
	if (ret == 0)
		ret = readings_compare(&before, &after, err);
	if (ret == 0)
		ret = deliver(&after, o, err);
	readings_free(&before);
	readings_free(&after);
	return ret;
}

/* Before any work; opens what is written beside the text. */
static int check_output(struct counters_options *o, struct rd_error *err)
{
	struct rd_inputs inputs = {0};

	if (o->before)
		rd_inputs_add(&inputs, o->before);
	if (o->after)
		rd_inputs_add(&inputs, o->after);
	if (o->json_file)
		o->json_out = report_file_open(o->json_file, "--json", &inputs, false, err);
	if (o->json_file && !o->json_out)
		return -1;
	return o->output ? report_file_check(o->output, "--output", &inputs, err) : 0;
}

static int read_ports(const struct counters_options *o, struct rd_error *err)
{
	struct ports ports = {0};
	int ret = ports_find(&ports, o, err);

	if (ret == 0)
		ret = o->interval > 0 ? run_interval(&ports, o, err) : run_once(&ports, o, err);
	ports_free(&ports);
	return ret;
}

static int run(void *settings, struct rd_error *err)
{
	struct counters_options *o = settings;
	int ret;

	if (o->explain)
		return explain(o, err);
	if (o->output && !strcmp(o->output, "-"))
		o->output = NULL;
	if (check_output(o, err) < 0)
		return -1;
	ret = o->diff ? run_diff(o, err) : read_ports(o, err);
	if (o->json_out && report_file_close(o->json_out, o->json_file, "--json", ret == 0,
				   ret ? NULL : err) < 0)
		return -1;
	return ret;
}

int rd_cmd_counters(int argc, char **argv)
{
	static const struct argp argp = {.parser = parse_other,
		.args_doc = "[DEV[:PORT]]\n--diff BEFORE.json AFTER.json\n--explain NAME",
		.doc = "Reads all counters of RDMA ports (transport, link, connection manager, "
		       "netdev driver), and reports problems, their usual cause, and what to "
		       "do.\vExample: rdmadump counters mlx5_0 --interval 1"};
	struct counters_options o = {.sysroot = ""};

	if (rd_cli_read(options, &argp, argc, argv, &o))
		return RD_CLASS_USAGE;
	rd_cli_log(RD_LOG_WARNING);
	return run_on_tree(o.sysroot, run, &o);
}
