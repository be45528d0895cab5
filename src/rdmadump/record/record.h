/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of `rdmadump record`: options (command.c), what is printed (report.c). */
#pragma once

#include "../ending.h"
#include <limits.h>
#include <rdmadump/recorder.h>

struct record_settings {
	struct rd_recorder_config config;
	struct rd_wanted_port wanted;
	const char *triggers[RD_TRIGGERS_MAX];
	bool json, quiet, explain, no_analysis, whole_frames, zero_payload;
	unsigned int debug;
};

struct record_run {
	struct ending ending;
	struct record_settings *settings;
	struct rd_recorder *recorder;
	const struct rd_session_result *result;
	char path[300], program[PATH_MAX];
};

/* report.c */
void record_report_start(const struct record_run *r);
/* A watch on a timer: the line on a terminal. */
bool record_report_progress(void *run, int fd);
void record_report_end(const struct record_run *r);
