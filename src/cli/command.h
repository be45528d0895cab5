/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How every command reads its command line. */
#ifndef RDMADUMP_CLI_COMMAND_H
#define RDMADUMP_CLI_COMMAND_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

/* Ends the program: the message, and that the help of `command` ("rdmadump list") says more. */
__attribute__((format(printf, 2, 3), noreturn)) void rd_cli_usage_error(
	const char *command, const char *fmt, ...);

/* An option of a command, and where its argument goes. */
struct rd_cli_option {
	const char *name;
	int letter;	 /* 0: none */
	const char *arg; /* NULL: none */
	const char *doc;
	/* `at`: the field that the row names, or the settings. Ends the program if it is wrong. */
	void (*set)(struct argp_state *state, const struct rd_cli_option *row, char *arg, void *at);
	size_t offset, size; /* RD_CLI_FIELD() */
	uint64_t min, max;   /* of a number, a time or a size */
	int flags;	     /* OPTION_ARG_OPTIONAL, OPTION_HIDDEN */
};
#define RD_CLI_FIELD(type, field)                                                                  \
	.offset = offsetof(type, field), .size = sizeof(((type *)0)->field)

/* A bool becomes true; one more; the argument as it is; a whole number of the field's size. */
void rd_cli_flag(struct argp_state *state, const struct rd_cli_option *row, char *arg, void *at);
void rd_cli_more(struct argp_state *state, const struct rd_cli_option *row, char *arg, void *at);
void rd_cli_text(struct argp_state *state, const struct rd_cli_option *row, char *arg, void *at);
void rd_cli_number(struct argp_state *state, const struct rd_cli_option *row, char *arg, void *at);
/* Of -a: "duration:SECONDS". */
void rd_cli_autostop(
	struct argp_state *state, const struct rd_cli_option *row, char *arg, void *at);

/*
 * Reads the command line of a command with these rows, the last of which is empty; argp->options
 * is not used, and argp->parser gets what is no option, with the settings as input. As
 * rd_cli_parse().
 */
error_t rd_cli_read(const struct rd_cli_option *rows, const struct argp *argp, int argc,
	char **argv, void *settings);

/*
 * argp_parse() with three additions: an unknown option or a missing argument ends the program, with
 * a suggestion; -h is --help; --option-list prints the options for programs. Returns what
 * argp_parse() does.
 */
error_t rd_cli_parse(
	const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);

#endif
