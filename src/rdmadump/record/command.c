/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump record`: a flight recorder. */
#include "cli/command.h"
#include "../commands.h"
#include "config.h"
#include "record.h"
#include <rdmadump/program.h>
#include <rdmadump/spawn.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define MEMORY_MIN ((uint64_t)4 << 20)
#define MEMORY_MAX ((uint64_t)1 << 40)
#define SECOND	   1000000000U
#define DAY_NS	   ((uint64_t)86400 * SECOND)

/* --- options ------------------------------------------------------------------------------ */

static int set_time(const struct option_use *use, struct rd_error *err)
{
	if (rd_parse_duration(use->arg, 0, DAY_NS, option_field(use)) == 0)
		return 0;
	return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
		"%s: '%s' is not a time up to a day, like 500ms, 10s or 2m", use->as, use->arg);
}

static int set_bytes(const struct option_use *use, struct rd_error *err)
{
	char from[RD_UNITS_LEN], to[RD_UNITS_LEN];

	if (rd_parse_size(use->arg, use->min, use->max, option_field(use)) == 0)
		return 0;
	return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
		"%s: '%s' is not a size from %s to %s, like 64Mi or 10G", use->as, use->arg,
		rd_fmt_kib(from, use->min), rd_fmt_kib(to, use->max));
}

static int add_trigger(const struct option_use *use, struct rd_error *err)
{
	struct record_settings *s = use->settings;

	if (s->config.n_triggers == RD_TRIGGERS_MAX)
		return rd_fail(
			err, RD_CLASS_USAGE, 0, NULL, "more than %d triggers", RD_TRIGGERS_MAX);
	s->triggers[s->config.n_triggers++] = use->arg;
	return 0;
}

#define OPTIONS_OF struct record_settings

static const struct cli_option options[] = {
	{"write", 'w', "FILE",
		"Name of the files: number and time are added before the suffix (default "
		"DEV.pcapng)",
		STRING(config.session.out.path)},
	{"trigger", 0, "EXPR",
		"What starts a file, besides SIGUSR1; may be repeated: nak[=CODE], rnr, "
		"retransmission, gave-up, qp-error, cnp, cm-reject, icrc-error, each with >N/s, "
		",qp=QP, ,host=ADDRESS; stall>TIME[,qp=QP][,host=ADDRESS]; "
		"COUNTER[>N[/s]][,device=DEV]; port-down, fatal, gid-change, event=NAME; "
		"kmsg=PATTERN; fifo=PATH; log=PATH[,match=PATTERN]",
		.set = add_trigger},
	{"trigger-explain", 0, NULL,
		"Record nothing: print what each trigger means, and whether it can fire here",
		FLAG(explain)},
	{"pre", 0, "TIME",
		"Write frames from this long before a trigger: 500ms, 10s, 2m (default 10s)",
		.set = set_time, FIELD(config.retention.pre_ns)},
	{"post", 0, "TIME", "Write frames until this long after a trigger (default 5s)",
		.set = set_time, FIELD(config.retention.post_ns)},
	{"holdoff", 0, "TIME", "Ignore triggers for this long after the end of a file (default 0)",
		.set = set_time, FIELD(config.retention.holdoff_ns)},
	{"memory", 0, "SIZE", "Memory for frames, e.g. 512Mi (default 256Mi)", .set = set_bytes,
		FIELD(config.session.out.buffer), RANGE(MEMORY_MIN, MEMORY_MAX)},
	{"max-dumps", 0, "N", "Stop after N files", NUMBER(config.retention.files, 1, 1000000)},
	{"max-disk", 0, "SIZE", "Stop before the frames of all files exceed SIZE, e.g. 10G",
		.set = set_bytes, FIELD(config.retention.bytes), RANGE(1 << 20, (uint64_t)1 << 50)},
	{"zero-payload", 0, NULL,
		"Keep whole frames, payload replaced with zeros (default: headers only)",
		FLAG(zero_payload)},
	{"whole-frames", 0, NULL, "Keep whole frames with payload", FLAG(whole_frames)},
	{"exec", 0, "COMMAND", "Run COMMAND FILE for each file after analysis",
		STRING(config.command)},
	{"tell", 0, "HOST:PATH",
		"Trigger the recorder of HOST, too: by ssh, a line into its --trigger fifo=PATH",
		STRING(config.tell)},
	{"no-analysis", 0, NULL, "Do not write an analysis (.json, .html) beside each file",
		FLAG(no_analysis)},
	{"textfile", 0, "FILE", "Write the recorder's state to FILE for Prometheus, every 10 s",
		STRING(config.textfile)},
	{"user", 'Z', "USER",
		"Become USER once the device is open; root keeps all privileges (default: the "
		"caller of sudo)",
		STRING(config.session.user)},
	{"no-seccomp", 0, NULL,
		"Do not let the kernel refuse system calls that a recorder does not need",
		FLAG(config.session.no_seccomp)},
	{"ring", 'b', "N", "2^N receive buffers (default 14)",
		NUMBER(config.session.device.log2_buffers, 6, 20)},
	{"latency", 0, "MS",
		"Let frames wait in the receive ring for up to MS milliseconds (default 5)",
		NUMBER(config.session.device.latency_ms, 0, 1000)},
	{"sniffer", 0, "verbs|icmd",
		"As of 'rdmadump capture'; icmd: on InfiniBand ports of ConnectX-4 and later, as "
		"root",
		.set = set_sniffer, FIELD(config.session)},
	{"force", 0, NULL,
		"Start the sniffer in switchdev mode even before Linux 5.10; --sniffer icmd on an "
		"Ethernet port",
		FLAG(config.session.force)},
	{"all-qps", 0, NULL,
		"List queue pairs and their owners even if the device has more than 4096",
		FLAG(config.session.all_qps)},
	{"stop-on-pause", 0, NULL,
		"Stop when the port begins to send pause frames or its PCIe writes stall, which "
		"the recording's copies may cause",
		FLAG(config.session.stop_on_pause)},
	{"autostop", 'a', "duration:SECONDS", "Stop after SECONDS", .set = set_stop_after,
		FIELD(config.session.duration_s)},
	{"json", 0, NULL, "Print the report as JSON on standard output", FLAG(json)},
	{"quiet", 'q', NULL, "Print only errors and warnings", FLAG(quiet)},
	{"debug", 'D', NULL, "Print more messages", MORE(debug)},
	ONE_WORD(wanted.name, "one port is recorded")};

static void check(struct argp_state *state, const struct record_settings *s)
{
	struct rd_error err;

	if (s->whole_frames && s->zero_payload)
		rd_cli_usage_error(state->name,
			"--whole-frames keeps the payload that --zero-payload removes: "
			"give one of them");
	if (s->config.session.out.path && strcmp(s->config.session.out.path, "-") == 0)
		rd_cli_usage_error(state->name,
			"-w '%s': every trigger begins a file of its own, so it cannot be standard "
			"output: give a name, like /var/tmp/fault.pcapng",
			s->config.session.out.path);
	if ((s->config.session.out.path &&
		    rd_compression_check(s->config.session.out.path, &err) < 0) ||
		rd_spawn_check("--exec", s->config.command, &err) < 0)
		rd_cli_usage_error(state->name, "%s", err.text);
	if (s->explain && s->json)
		rd_cli_usage_error(state->name, "--trigger-explain prints text: leave out --json");
	if (!s->config.retention.pre_ns && !s->config.retention.post_ns)
		rd_cli_usage_error(state->name, "--pre 0 and --post 0: no frame would be written");
}

static error_t parse_other(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key == ARGP_KEY_END)
		check(state, state->input);
	return ARGP_ERR_UNKNOWN;
}

/* --- the run ------------------------------------------------------------------------------ */

static void on_started(void *ctx)
{
	const struct record_run *r = ctx;

	if (!r->settings->quiet)
		record_report_start(r);
}

static void on_ended(void *ctx)
{
	(void)ctx;
	rd_cli_status(NULL);
}

/* SIGUSR1 is a trigger. */
static void on_request(void *ctx, int number, bool ended)
{
	const struct record_run *r = ctx;

	if (number == SIGUSR1 && !ended)
		rd_recorder_signal(r->recorder);
}

static void on_abandon(void *ctx)
{
	const struct record_run *r = ctx;

	rd_session_abandon(rd_recorder_session(r->recorder));
	rd_cli_fail(&r->result->error);
	record_report_end(r);
}

static void configure(struct record_run *r)
{
	struct record_settings *s = r->settings;
	struct rd_recorder_config *c = &s->config;

	r->ending.requested = on_request;
	r->ending.abandon = on_abandon;
	r->ending.waits[false] =
		"waiting for the output to take the last frames; Ctrl-C again abandons it";
	r->ending.waits[true] = "waiting for the analysis of the last files and their commands; "
				"Ctrl-C again ends without them";
	/* ':' and '/' of a port or a path are not part of a name. */
	snprintf(r->path, sizeof(r->path), "%.*s.pcapng",
		s->wanted.name ? (int)strcspn(s->wanted.name, ":/") : 6,
		s->wanted.name ? s->wanted.name : "record");
	if (!c->session.out.path)
		c->session.out.path = r->path;
	c->session.wanted = &s->wanted;
	c->session.n_wanted = s->wanted.name ? 1 : 0;
	c->session.cut = (struct rd_cut){.headers_only = !s->whole_frames && !s->zero_payload,
		.zero_payload = s->zero_payload,
		.writable = true};
	c->session.root_option = "-Z root";
	ending_open(&r->ending, s->quiet ? NULL : record_report_progress);
	ending_configure(&r->ending, &c->session);
	c->triggers = s->triggers;
	c->program = s->no_analysis ? NULL : r->program;
	c->notify = true;
	c->ctx = r;
	c->started = on_started;
	c->ended = on_ended;
	c->waiting = ending_while_waiting;
}

static void explain(struct record_run *r)
{
	char *text;

	for (unsigned int i = 0; (text = rd_recorder_explain(r->recorder, i)); i++) {
		fputs(text, stdout);
		free(text);
	}
}

static int run(struct record_run *r, struct rd_error *err)
{
	if (!r->settings->no_analysis && rd_program_find(r->program, "rdmadump-analyze", err) < 0)
		return -1;
	if (rd_recorder_open(&r->recorder, &r->settings->config, err) < 0)
		return -1;
	if (r->settings->explain) {
		explain(r);
		rd_recorder_close(r->recorder);
		return 0;
	}
	r->result = rd_session_result(rd_recorder_session(r->recorder));
	rd_recorder_run(r->recorder);
	if (r->result->ran)
		record_report_end(r);
	*err = r->result->error;
	rd_recorder_close(r->recorder);
	return err->class == RD_CLASS_NONE ? 0 : -1;
}

int rd_cmd_record(int argc, char **argv)
{
	static const struct argp argp = {.parser = parse_other,
		.args_doc = "[DEV[:PORT]]",
		.doc = "Keeps the newest frames of a port in memory, for days if needed. A trigger "
		       "(a growing counter, a NAK, a signal) writes the frames before and after it "
		       "to a file.\vExample: rdmadump record mlx5_0 -w /var/tmp/fault.pcapng "
		       "--trigger 'out_of_buffer>100/s' --trigger nak"};
	static struct record_settings settings = {
		.config = {.retention = {.pre_ns = 10 * (uint64_t)SECOND,
				   .post_ns = 5 * (uint64_t)SECOND},
			.session = {.device.log2_buffers = RD_LOG2_BUFFERS,
				.device.latency_ms = RD_LATENCY_MS,
				.out.buffer = (uint64_t)256 << 20}}};
	static struct record_run r = {.settings = &settings};
	struct rd_error err = {0};
	int rc;

	if (rd_cli_read(options, &argp, argc, argv, &settings))
		return RD_CLASS_USAGE;
	rd_cli_log(settings.debug ? RD_LOG_DEBUG : settings.quiet ? RD_LOG_WARNING : RD_LOG_INFO);
	ending_block(&r.ending);
	configure(&r);
	rc = run(&r, &err);
	ending_close(&r.ending);
	return rc == 0 ? 0 : rd_cli_fail(&err);
}
