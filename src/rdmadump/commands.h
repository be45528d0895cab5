/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The commands that people see: what this program does itself, and programs that it runs. */
#pragma once

#include "cli/cli.h"
#include "cli/command.h"

struct rd_command {
	const char *name, *help;
};

/* All that people see, in help.c; the first one is the default; ended by a row without a name. */
extern const struct rd_command rd_commands[];

rd_command_fn rd_cmd_capture, rd_cmd_counters, rd_cmd_events, rd_cmd_info, rd_cmd_list,
	rd_cmd_record;

/* Command lines of other programs: ibdump, a Wireshark extcap. */
rd_command_fn ibdump_run, extcap_run;

/* Of --sniffer, for a struct rd_session_config. */
option_setter set_sniffer;

/* --help of the program, on standard output; 40 lines at most. */
void help_short(void);
/* argp's hook: version, libraries, features. */
void rd_cli_version(void);
