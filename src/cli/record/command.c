/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump record`: a flight recorder. */
#include "../command.h"
#include "../cli.h"
#include "../parse.h"
#include "config.h"
#include "record.h"
#include <argp.h>
#include <errno.h>
#include <rdmadump/log.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MEMORY_MIN ((uint64_t)4 << 20)
#define MEMORY_MAX ((uint64_t)1 << 40)
#define SECOND	   1000000000U
#define DAY_NS	   ((uint64_t)86400 * SECOND)
#define PROGRAM	   "/proc/self/exe"

enum {
	OPT_TRIGGER = 0x100,
	OPT_EXPLAIN,
	OPT_PRE,
	OPT_POST,
	OPT_HOLDOFF,
	OPT_MEMORY,
	OPT_DUMPS,
	OPT_DISK,
	OPT_ZERO_PAYLOAD,
	OPT_WHOLE_FRAMES,
	OPT_EXEC,
	OPT_NO_ANALYSIS,
	OPT_TEXTFILE,
	OPT_JSON,
	OPT_LATENCY,
	OPT_SNIFFER,
	OPT_FORCE,
	OPT_ALL_QPS,
	OPT_STOP_ON_PAUSE,
};

static const struct argp_option options[] = {{"write", 'w', "FILE", 0,
						     "Name of the files: number and time are added "
						     "before the suffix (default DEV.pcapng)",
						     0},
	{"trigger", OPT_TRIGGER, "EXPR", 0,
		"What starts a file, besides SIGUSR1; may be repeated: nak[=CODE], rnr, "
		"retransmission, gave-up, qp-error, cnp, cm-reject, icrc-error, each with >N/s, "
		",qp=QP, ,host=ADDRESS; stall>TIME[,qp=QP][,host=ADDRESS]; "
		"COUNTER[>N[/s]][,device=DEV]; port-down, fatal, gid-change, event=NAME; "
		"kmsg=PATTERN; fifo=PATH",
		0},
	{"trigger-explain", OPT_EXPLAIN, NULL, 0,
		"Record nothing: print what each trigger means, and whether it can fire here", 0},
	{"pre", OPT_PRE, "TIME", 0,
		"Write frames from this long before a trigger: 500ms, 10s, 2m (default 10s)", 0},
	{"post", OPT_POST, "TIME", 0, "Write frames until this long after a trigger (default 5s)",
		0},
	{"holdoff", OPT_HOLDOFF, "TIME", 0,
		"Ignore triggers for this long after the end of a file (default 0)", 0},
	{"memory", OPT_MEMORY, "SIZE", 0, "Memory for frames, e.g. 512Mi (default 256Mi)", 0},
	{"max-dumps", OPT_DUMPS, "N", 0, "Stop after N files", 0},
	{"max-disk", OPT_DISK, "SIZE", 0,
		"Stop before the frames of all files exceed SIZE, e.g. 10G", 0},
	{"zero-payload", OPT_ZERO_PAYLOAD, NULL, 0,
		"Keep whole frames, payload replaced with zeros (default: headers only)", 0},
	{"whole-frames", OPT_WHOLE_FRAMES, NULL, 0, "Keep whole frames with payload", 0},
	{"exec", OPT_EXEC, "COMMAND", 0, "Run COMMAND FILE for each file after analysis", 0},
	{"no-analysis", OPT_NO_ANALYSIS, NULL, 0,
		"Do not write an analysis (.json, .html) beside each file", 0},
	{"textfile", OPT_TEXTFILE, "FILE", 0,
		"Write the recorder's state to FILE for Prometheus, every 10 s", 0},
	{"user", 'Z', "USER", 0,
		"Become USER once the device is open; root keeps all privileges (default: the "
		"caller of sudo)",
		0},
	{"ring", 'b', "N", 0, "2^N receive buffers (default 14)", 0},
	{"latency", OPT_LATENCY, "MS", 0,
		"Let frames wait in the receive ring for up to MS milliseconds (default 5)", 0},
	{"sniffer", OPT_SNIFFER, "verbs|icmd|ibdump", 0,
		"As of 'rdmadump capture'; icmd: on InfiniBand ports of ConnectX-4 and later, as "
		"root",
		0},
	{"force", OPT_FORCE, NULL, 0,
		"Start the sniffer in switchdev mode even before Linux 5.10; --sniffer icmd on an "
		"Ethernet port",
		0},
	{"all-qps", OPT_ALL_QPS, NULL, 0,
		"List queue pairs and their owners even if the device has more than 4096", 0},
	{"stop-on-pause", OPT_STOP_ON_PAUSE, NULL, 0,
		"Stop when the port begins to send pause frames or its PCIe writes stall, which "
		"the recording's copies may cause",
		0},
	{"autostop", 'a', "duration:SECONDS", 0, "Stop after SECONDS", 0},
	{"json", OPT_JSON, NULL, 0, "Print the report as JSON on standard output", 0},
	{"quiet", 'q', NULL, 0, "Print only errors and warnings", 0},
	{"debug", 'D', NULL, 0, "Print more messages", 0}, {0}};

/* --- values
 * --------------------------------------------------------------------------------------- */

static void parse_time(struct argp_state *state, const char *name, const char *arg, uint64_t *out)
{
	if (rd_parse_duration(arg, 0, DAY_NS, out))
		rd_cli_usage_error(state->name,
			"%s: '%s' is not a time up to a day, like 500ms, 10s or 2m", name, arg);
}

static void parse_bytes(struct argp_state *state, const char *name, const char *arg, uint64_t least,
	uint64_t most, uint64_t *out)
{
	char from[RD_UNITS_LEN], to[RD_UNITS_LEN];

	if (rd_parse_size(arg, least, most, out))
		rd_cli_usage_error(state->name,
			"%s: '%s' is not a size from %s to %s, like 64Mi or 10G", name, arg,
			rd_fmt_kib(from, least), rd_fmt_kib(to, most));
}

static void add_trigger(struct argp_state *state, struct record_settings *s, const char *arg)
{
	if (s->config.n_triggers == RD_TRIGGERS_MAX)
		rd_cli_usage_error(state->name, "more than %d triggers", RD_TRIGGERS_MAX);
	s->triggers[s->config.n_triggers++] = arg;
}

static error_t parse_limits(int key, char *arg, struct argp_state *state)
{
	struct record_settings *s = state->input;
	struct rd_session_config *session = &s->config.session;
	uint64_t n;

	switch (key) {
	case OPT_PRE:
		parse_time(state, "--pre", arg, &s->config.pre_ns);
		return 0;
	case OPT_POST:
		parse_time(state, "--post", arg, &s->config.post_ns);
		return 0;
	case OPT_HOLDOFF:
		parse_time(state, "--holdoff", arg, &s->config.holdoff_ns);
		return 0;
	case OPT_MEMORY:
		parse_bytes(state, "--memory", arg, MEMORY_MIN, MEMORY_MAX, &session->buffer);
		return 0;
	case OPT_DUMPS:
		parse_number(state, "--max-dumps", arg, 1, 1000000, &n);
		s->config.files = (unsigned int)n;
		return 0;
	case OPT_DISK:
		parse_bytes(state, "--max-disk", arg, 1 << 20, (uint64_t)1 << 50, &s->config.bytes);
		return 0;
	case 'b':
		parse_number(state, "--ring", arg, 6, 20, &n);
		session->log2_buffers = (unsigned int)n;
		return 0;
	case OPT_LATENCY:
		parse_number(state, "--latency", arg, 0, 1000, &session->latency_ms);
		return 0;
	case 'a':
		parse_duration(state, arg, &session->duration_s);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_end(struct argp_state *state, struct record_settings *s)
{
	struct rd_error err;

	if (s->whole_frames && s->zero_payload)
		rd_cli_usage_error(state->name,
			"--whole-frames keeps the payload that --zero-payload removes: "
			"give one of them");
	if (s->config.session.path &&
		(!*s->config.session.path || strcmp(s->config.session.path, "-") == 0))
		rd_cli_usage_error(state->name,
			"-w '%s': every trigger begins a file of its own, so it cannot be standard "
			"output: give a name, like /var/tmp/fault.pcapng",
			s->config.session.path);
	if (s->config.session.path && rd_compression_check(s->config.session.path, &err) < 0)
		rd_cli_usage_error(state->name, "%s", err.text);
	if (!s->config.pre_ns && !s->config.post_ns)
		rd_cli_usage_error(state->name, "--pre 0 and --post 0: no frame would be written");
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct record_settings *s = state->input;

	switch (key) {
	case 'w':
		s->config.session.path = arg;
		return 0;
	case OPT_TRIGGER:
		add_trigger(state, s, arg);
		return 0;
	case OPT_EXPLAIN:
		s->explain = true;
		return 0;
	case OPT_ZERO_PAYLOAD:
		s->zero_payload = true;
		return 0;
	case OPT_WHOLE_FRAMES:
		s->whole_frames = true;
		return 0;
	case OPT_EXEC:
		s->config.command = arg;
		return 0;
	case OPT_NO_ANALYSIS:
		s->no_analysis = true;
		return 0;
	case OPT_SNIFFER:
		if (!rd_cli_sniffer(&s->config.session, arg))
			rd_cli_usage_error(
				state->name, "--sniffer '%s': verbs, icmd or ibdump", arg);
		return 0;
	case OPT_FORCE:
		s->config.session.force = true;
		return 0;
	case OPT_ALL_QPS:
		s->config.session.all_qps = true;
		return 0;
	case OPT_STOP_ON_PAUSE:
		s->config.session.stop_on_pause = true;
		return 0;
	case OPT_TEXTFILE:
		s->config.textfile = arg;
		return 0;
	case 'Z':
		s->config.session.user = arg;
		return 0;
	case OPT_JSON:
		s->json = true;
		return 0;
	case 'q':
		s->quiet = true;
		return 0;
	case 'D':
		s->debug++;
		return 0;
	case ARGP_KEY_ARG:
		if (s->wanted.name)
			rd_cli_usage_error(
				state->name, "unexpected argument '%s': one port is recorded", arg);
		s->wanted.name = arg;
		return 0;
	case ARGP_KEY_END:
		return parse_end(state, s);
	default:
		return parse_limits(key, arg, state);
	}
}

/* --- the run
 * ---------------------------------------------------------------------------------------- */

static void on_ready(void *ctx)
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

static int progress_timer(const struct record_run *r)
{
	const struct itimerspec t = {.it_value.tv_sec = 1, .it_interval.tv_sec = 1};
	int fd;

	if (r->settings->quiet || !isatty(STDERR_FILENO))
		return -1;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd >= 0)
		timerfd_settime(fd, 0, &t, NULL);
	return fd;
}

static void configure(struct record_run *r)
{
	struct record_settings *s = r->settings;
	struct rd_recorder_config *c = &s->config;

	r->watches[0] = (struct rd_watch){
		signalfd(-1, &r->signals, SFD_CLOEXEC | SFD_NONBLOCK), record_signals_ready, r};
	r->watches[1] = (struct rd_watch){progress_timer(r), record_report_progress, r};
	/* ':' and '/' of a port or a path are not part of a name. */
	snprintf(r->path, sizeof(r->path), "%.*s.pcapng",
		s->wanted.name ? (int)strcspn(s->wanted.name, ":/") : 6,
		s->wanted.name ? s->wanted.name : "record");
	if (!c->session.path)
		c->session.path = r->path;
	c->session.wanted = &s->wanted;
	c->session.n_wanted = s->wanted.name ? 1 : 0;
	c->session.cut = (struct rd_cut){.headers_only = !s->whole_frames && !s->zero_payload,
		.zero_payload = s->zero_payload,
		.writable = true};
	c->session.root_option = "-Z root";
	c->session.is_ending = rd_cli_is_ending;
	c->session.watches = r->watches;
	c->session.n_watches = 2;
	c->triggers = s->triggers;
	c->program = s->no_analysis ? NULL : PROGRAM;
	c->notify = true;
	c->ctx = r;
	c->ready = on_ready;
	c->ended = on_ended;
	c->waiting = record_signals_waiting;
	c->waiting_for_counters = record_signals_while_counters_settle;
	c->waiting_for_gateway = record_signals_while_gateway_works;
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
	static const struct argp argp = {.options = options,
		.parser = parse_option,
		.args_doc = "[DEV[:PORT]]",
		.doc = "Keeps the newest frames of a port in memory, for days if needed. A trigger "
		       "(a growing counter, a NAK, a signal) writes the frames before and after it "
		       "to a file.\vExample: rdmadump record mlx5_0 -w /var/tmp/fault.pcapng "
		       "--trigger 'out_of_buffer>100/s' --trigger nak"};
	static struct record_settings settings = {
		.config = {.pre_ns = 10 * (uint64_t)SECOND,
			.post_ns = 5 * (uint64_t)SECOND,
			.session = {.log2_buffers = RD_LOG2_BUFFERS,
				.latency_ms = RD_LATENCY_MS,
				.buffer = (uint64_t)256 << 20}}};
	static struct record_run r = {.settings = &settings};
	struct rd_error err = {0};
	int rc;

	if (rd_cli_parse(&argp, argc, argv, 0, &settings))
		return RD_CLASS_USAGE;
	rd_cli_log(settings.debug ? RD_LOG_DEBUG : settings.quiet ? RD_LOG_WARNING : RD_LOG_INFO);
	record_signals_block(&r);
	configure(&r);
	rc = run(&r, &err);
	for (unsigned int i = 0; i < 2; i++)
		if (r.watches[i].fd >= 0)
			close(r.watches[i].fd);
	return rc == 0 ? 0 : rd_cli_fail(&err);
}
