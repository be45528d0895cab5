/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of `rdmadump record`: options (command.c), signals, what is printed (report.c). */
#ifndef RDMADUMP_CLI_RECORD_H
#define RDMADUMP_CLI_RECORD_H

#include <limits.h>
#include <rdmadump/recorder.h>
#include <signal.h>

struct record_settings {
	struct rd_recorder_config config;
	struct rd_wanted_port wanted;
	const char *triggers[RD_TRIGGERS_MAX];
	bool json, quiet, explain, no_analysis, whole_frames, zero_payload;
	unsigned int debug;
};

struct record_run {
	struct record_settings *settings;
	struct rd_recorder *recorder;
	const struct rd_session_result *result;
	struct rd_watch watches[2];
	char path[300], program[PATH_MAX];
	sigset_t signals;  /* signals that are blocked and waited for */
	atomic_int signal; /* the signal that ended it; 0: none */
	bool asked_to_end; /* by a signal after the recording had ended */
	bool announced[2]; /* announced: waiting for the output, for the analysis */
	struct gateway_wait gateway;
};

/* signals.c */
/* Blocks the signals until the process ends. */
void record_signals_block(struct record_run *r);
/* A watch on a signalfd; returns true if the recording is to end. */
bool record_signals_ready(void *run, int fd);
/* rd_recorder_config's callbacks. */
bool record_signals_waiting(void *run, bool commands);
bool record_signals_while_counters_settle(void *run);
bool record_signals_while_gateway_works(void *run);

/* report.c */
void record_report_start(const struct record_run *r);
/* A watch on a timer: the line on a terminal. */
bool record_report_progress(void *run, int fd);
void record_report_end(const struct record_run *r);

#endif
