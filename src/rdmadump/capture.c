/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdmadump capture: reads its command line by the table of options. */
#include "capture.h"
#include "cli/command.h"
#include "commands.h"
#include "help.h"
#include "options.h"
#include <stdio.h>
#include <stdlib.h>

#define KEY_OF_ROW 0x100 /* argp's key of an option without letter */

static error_t fail(struct argp_state *state, const struct rd_error *err)
{
	rd_cli_usage_error(state->name, "%s", err->text);
	return EINVAL;
}

/* Prints something instead of capturing. */
static void run_instead(const struct arguments *a, struct argp_state *state)
{
	static char *list[] = {(char *)"rdmadump list", NULL};

	switch (a->instead) {
	case INSTEAD_HELP:
		help_short();
		exit(0);
	case INSTEAD_HELP_ALL:
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return;
	case INSTEAD_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return;
	case INSTEAD_VERSION:
		rd_cli_version();
		exit(0);
	case INSTEAD_LIST:
		exit(rd_cmd_list(1, list));
	case INSTEAD_NOTHING:
		return;
	}
}

/* --- the filter on the command line ----------------------------------------------------- */

/* Before any device is opened. */
static int check_words(const char *words, struct rd_error *err)
{
	const struct rd_filter_spec spec = {.expression = words};
	struct rd_filter *filter;

	if (rd_filter_compile(&filter, &spec, RD_LINK_ETHERNET, err) < 0)
		return -1;
	rd_filter_free(filter);
	return 0;
}

/* --- argp ------------------------------------------------------------------------------- */

static const struct cli_option *row_of(int key)
{
	unsigned int row = (unsigned int)(key - KEY_OF_ROW);

	if (key >= KEY_OF_ROW)
		return row < n_cli_options ? option_main(row) : NULL; /* argp has keys, too */
	for (unsigned int i = 0; i < n_cli_options; i++)
		if (cli_options[i].letter && cli_options[i].letter == key)
			return option_main(i);
	return NULL;
}

static int settle(struct arguments *a, struct rd_error *err)
{
	static const unsigned int styles[] = {0, RD_LINE_NO_TIME, RD_LINE_EPOCH, RD_LINE_SINCE_LAST,
		RD_LINE_DATE, RD_LINE_SINCE_FIRST};
	const unsigned int most = sizeof(styles) / sizeof(*styles) - 1;
	struct capture_options *o = a->o;

	/* tcpdump's -W: a ring for -C, an end for -G alone */
	if (a->files && a->by_size)
		o->session.out.rotation.ring = a->files;
	else if (a->files)
		o->session.out.rotation.files = a->files;
	if (options_check(a, err) < 0)
		return -1;
	o->session.filter.expression = a->filter_file ? a->filter_file : a->words;
	o->line_style |= styles[a->bare_t > most ? most : a->bare_t];
	if (!o->session.out.path && !o->analyze && !o->only_count)
		o->print = true;
	if (o->only_count)
		o->quiet = true;
	/* The bytes of the file source and of the receive buffers may be modified. */
	o->session.cut.writable = true;
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	const struct cli_option *row = row_of(key);
	struct rd_error err;
	char as[40];

	if (!row)
		return ARGP_ERR_UNKNOWN;
	if (key < KEY_OF_ROW)
		snprintf(as, sizeof(as), "-%c", key);
	else
		snprintf(as, sizeof(as), "--%s", row->name);
	if (option_set(a, a->o, row, as, arg, NULL, &err) < 0)
		return fail(state, &err);
	run_instead(a, state);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct rd_error err;

	switch (key) {
	case ARGP_KEY_ARG:
		return options_add_word(a, arg, &err) < 0 ? fail(state, &err) : 0;
	case ARGP_KEY_END:
		if (settle(a, &err) < 0)
			return fail(state, &err);
		if (a->words && check_words(a->words, &err) < 0)
			argp_failure(state, (int)err.class, 0, "%s", err.text);
		return 0;
	default:
		return parse_option(key, arg, state);
	}
}

/* One row for each option, one heading for each group. */
static const struct argp_option *make_argp_options(void)
{
	struct argp_option *all = calloc(n_cli_options + GROUP_MESSAGES + 1, sizeof(*all));
	unsigned int group = 0;
	struct argp_option *to = all;

	for (unsigned int i = 0; all && i < n_cli_options; i++) {
		const struct cli_option *o = &cli_options[i];
		bool alias = o->flags & OPT_ALIAS;

		if (o->group != group)
			*to++ = (struct argp_option){
				.doc = option_groups[o->group], .group = (int)o->group};
		group = o->group;
		*to++ = option_for_argp(o, o->letter ? o->letter : alias ? 0 : KEY_OF_ROW + (int)i);
	}
	return all;
}

int rd_cmd_capture(int argc, char **argv)
{
	static struct capture_options o = {.session = {.device.log2_buffers = RD_LOG2_BUFFERS,
						   .device.latency_ms = RD_LATENCY_MS,
						   .out.buffer = RD_BUFFER_BYTES}};
	static struct capture_run run = {.opt = &o};
	struct arguments a = {.o = &o};
	const struct argp argp = {
		.options = make_argp_options(),
		.parser = parse,
		.args_doc = "[FILTER]",
		.doc = "Captures all traffic of an RDMA port, of this function only (PF, VF or "
		       "SF), "
		       "kernel bypass included, to a file for Wireshark, and reports lost "
		       "frames.\vExit status: 0 done, 1 "
		       "wrong "
		       "usage, 2 device or permission, 3 output, 4 ended by an error after frames "
		       "were captured.\nExample: rdmadump -d mlx5_0 -w incident.pcapng",
	};
	int rc;

	rd_cli_parse(&argp, argc, argv, ARGP_NO_HELP, &a);
	rd_cli_log(o.debug ? RD_LOG_DEBUG : o.quiet ? RD_LOG_WARNING : RD_LOG_INFO);
	rc = capture_run(&run);
	free(a.words);
	free((void *)(uintptr_t)argp.options);
	return rc;
}
