/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts of the capture command: options (capture.c, options.h, ibdump.c, extcap.c), running a
 * session (run.c), signals (signals.c), output on the terminal (report.c, loss.c, live.c).
 */
#pragma once

#include "ending.h"

/* What the program does instead of a capture. */
enum instead {
	INSTEAD_NOTHING,
	INSTEAD_HELP,
	INSTEAD_HELP_ALL,
	INSTEAD_USAGE,
	INSTEAD_VERSION,
	INSTEAD_LIST, /* -D */
};

/* The parsed command line: the session's configuration, and options of the command itself. */
struct capture_options {
	struct rd_session_config session;	     /* without the fields of the caller's part */
	struct rd_wanted_port wanted[RD_IFACES_MAX]; /* session.n_wanted of them */
	bool json, quiet, print, analyze;
	bool only_count; /* print nothing but the number of frames */
	unsigned int debug, line_style;
	/* While it is parsed. */
	const char *filter_file;
	char *words; /* the FILTER on the command line; freed by the caller */
	unsigned int files, bare_t;
	bool by_size, show_link;
	enum instead instead;
};

#define RD_BUFFER_BYTES ((uint64_t)256 << 20)

/* Of a struct rd_session_config. */
#define SESSION_DEFAULTS                                                                           \
	.device.log2_buffers = RD_LOG2_BUFFERS, .device.latency_ms = RD_LATENCY_MS,                \
	.out.buffer = RD_BUFFER_BYTES

struct live;
struct capture_run;

/* What differs when the program runs as ibdump. */
struct capture_style {
	/* May change run->config once the links are known; -1 with the error. */
	int (*set_format)(struct capture_run *run, struct rd_error *err);
	const char *ready; /* a line that says that frames are captured from now on */
	void (*report)(const struct capture_run *run);
	/* Prints the error and returns the exit status. */
	int (*fail)(const struct rd_error *err);
};

/* Printed lines: state between two lines; all zeros before the first. */
struct frame_lines {
	bool begun, colours;
	uint64_t base_ns; /* time of the first line, or of the last one */
};

/* One run of the capture command. The caller sets options and style. */
struct capture_run {
	struct ending ending;
	const struct capture_options *opt;
	const struct capture_style *style; /* NULL: rdmadump's own */
	struct rd_session_config config;
	struct rd_session *session;
	const struct rd_session_result *result;
	bool unprinted; /* the report of --analyze: exit status of an output */
	bool broken_pipe;
	uint64_t last_bytes, last_ns; /* at the last progress line */
	struct live *live;	      /* --analyze; else NULL */
	struct frame_lines lines;     /* that are printed */
};

/* run.c. Returns the exit status. */
int capture_run(struct capture_run *r);

static inline bool capture_to_pipe(const struct capture_options *o)
{
	return o->session.out.path && strcmp(o->session.out.path, "-") == 0;
}

/* report.c */
void report_start(const struct capture_run *r);
void report_progress(struct capture_run *r, bool on_request, char *line, size_t size);
/* At the end, in the requested form. */
void report_end(const struct capture_run *r);

/* loss.c: lost frames in the report. */
/* Prints which buffer to enlarge, for each ring that was full; nothing if the loss is small. */
void loss_advise(const struct capture_run *r);
/* The loss of all sources, and of one. If unknown, frames and percent are null, with a reason. */
json_t *loss_json(const struct capture_run *r);
json_t *loss_json_source(const struct capture_run *r, const struct rd_session_source *source);
/* Prints what the loss counters include, and which other counters changed. */
void loss_text(const struct capture_run *r);

/* live.c: --analyze. */
/* Before privileges are dropped: whether it can be done. */
int live_open(struct capture_run *r, struct rd_error *err);
/* Before privileges are dropped: reads the facts that come before the frames. */
void live_ready(struct live *l);
/* After that: starts the program. What fails from now on is reported at the end. */
void live_start(struct live *l);
void live_see(struct live *l, const struct rd_frame *frames, unsigned int n);
/* After the last frame. */
void live_stop(struct live *l);
/* The report, on standard output, or on standard error if frames are written there. */
void live_report(struct live *l);
json_t *live_json(struct live *l);
/* False: the report could not be written; the program has said so. */
bool live_close(struct live *l);
