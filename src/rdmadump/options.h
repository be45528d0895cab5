/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options of a capture: one row each, for the capture command, the ibdump mode and the
 * Wireshark extcap. Rows: options.c; setters for any row: option_values.c; for one row:
 * option_setters.c.
 */
#pragma once

#include "capture.h"
#include "cli/command.h"

#define SECONDS_MAX	 4000000000U
#define FILES_MAX	 100000
#define LOG2_BUFFERS_MAX 20
#define SNAPLEN_MAX	 262144 /* Wireshark's longest frame: whole ones */

enum option_group {
	GROUP_SOURCE = 1,
	GROUP_FILTER,
	GROUP_CUT,
	GROUP_OUTPUT,
	GROUP_ROTATION,
	GROUP_MEMORY,
	GROUP_MESSAGES,
};

extern const char *const option_groups[]; /* headings, by enum option_group */

/* The option in ibdump mode, where it has the same meaning. Zero fields: those of the row. */
struct ibdump_spelling {
	int letter;
	const char *name, *arg, *help;
	uint64_t min;
};

/* The option in Wireshark's dialog. */
struct extcap_field {
	unsigned int number; /* order of the dialog */
	const char *name;    /* NULL: that of the row */
	const char *display, *type, *preset, *tip, *group;
	uint64_t max, unit;		/* 0: those of the row */
	const char *const (*values)[2]; /* selector only: value, text; the first is the default */
};

extern const struct cli_option cli_options[];
extern const unsigned int n_cli_options;

/* The row itself, or the row of which row i is an alias. */
const struct cli_option *option_main(unsigned int i);

/* row->min: enum instead. */
option_setter set_instead;

/* For one row (option_setters.c). */
option_setter set_device, set_interface, set_autostop, set_snaplen, set_file_size,
	set_burst_or_ring, set_buffer_size, set_mem_mode, set_queues, set_word, set_filter_file;

/* Checks for contradictions once all options are read. Returns 0, or -1 with the error. */
int options_check(const struct capture_options *o, struct rd_error *err);

/* dumpcap's KEY:VALUE pairs, separated by commas (option_keys.c). -1 with the error. */
int option_ring_buffer(struct capture_options *o, const char *arg, struct rd_error *err);

/* Adds a word to the filter. */
int options_add_word(struct capture_options *o, const char *word, struct rd_error *err);
