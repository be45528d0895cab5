/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdmadump capture: reads its command line by the table of options. */
#include "capture.h"
#include "commands.h"
#include "options.h"
#include <stdlib.h>

/* Prints something instead of capturing. */
static void run_instead(const struct capture_options *o, struct argp_state *state)
{
	static char *list[] = {(char *)"rdmadump list", NULL};

	switch (o->instead) {
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

static int settle(struct capture_options *o, struct rd_error *err)
{
	static const unsigned int styles[] = {0, RD_LINE_NO_TIME, RD_LINE_EPOCH, RD_LINE_SINCE_LAST,
		RD_LINE_DATE, RD_LINE_SINCE_FIRST};
	const unsigned int most = RD_COUNT(styles) - 1;

	/* tcpdump's -W: a ring for -C, an end for -G alone */
	if (o->files && o->by_size)
		o->session.out.rotation.ring = o->files;
	else if (o->files)
		o->session.out.rotation.files = o->files;
	o->session.out.rotation.timed = o->session.slice_s != 0;
	if (options_check(o, err) < 0)
		return -1;
	o->session.filter.expression = o->filter_file ? o->filter_file : o->words;
	o->line_style = styles[o->bare_t > most ? most : o->bare_t];
	if (o->show_link)
		o->line_style |= RD_LINE_LINK;
	if (!o->session.out.path && !o->analyze && !o->only_count)
		o->print = true;
	if (o->only_count)
		o->quiet = true;
	/* The bytes of the file source and of the receive buffers may be modified. */
	o->session.cut.writable = true;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct capture_options *o = state->input;
	struct rd_error err;

	switch (key) {
	case KEY_TAKEN:
		run_instead(o, state);
		return 0;
	case ARGP_KEY_ARG:
		if (options_add_word(o, arg, &err) < 0)
			rd_cli_usage_error(state->name, "%s", err.text);
		return 0;
	case ARGP_KEY_END:
		if (settle(o, &err) < 0)
			rd_cli_usage_error(state->name, "%s", err.text);
		if (o->words && check_words(o->words, &err) < 0)
			argp_failure(state, (int)err.class, 0, "%s", err.text);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int rd_cmd_capture(int argc, char **argv)
{
	static struct capture_options o = {.session = {SESSION_DEFAULTS}};
	static struct capture_run run = {.opt = &o};
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "[FILTER]",
		.doc = "Captures all traffic of an RDMA port, of this function only (PF, VF or "
		       "SF), kernel bypass included, to a file for Wireshark, and reports lost "
		       "frames.\vExit status: 0 done, 1 wrong usage, 2 device or permission, 3 "
		       "output, 4 ended by an error after frames were captured.\nExample: rdmadump "
		       "-d mlx5_0 -w incident.pcapng",
	};
	int rc;

	if (rd_cli_read_groups(cli_options, option_groups, &argp, argc, argv, &o))
		return RD_CLASS_USAGE;
	rd_cli_log(o.debug ? RD_LOG_DEBUG : o.quiet ? RD_LOG_WARNING : RD_LOG_INFO);
	rc = capture_run(&run);
	free(o.words);
	return rc;
}
