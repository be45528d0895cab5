/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How every command reads its command line. */
#ifndef RDMADUMP_CLI_COMMAND_H
#define RDMADUMP_CLI_COMMAND_H

#include <argp.h>

/* Ends the program: the message, and that the help of `command` ("rdmadump list") says more. */
__attribute__((format(printf, 2, 3), noreturn)) void rd_cli_usage_error(
	const char *command, const char *fmt, ...);

/*
 * argp_parse() with three additions: an unknown option or a missing argument ends the program, with
 * a suggestion; -h is --help; --option-list prints the options for programs. Returns what
 * argp_parse() does.
 */
error_t rd_cli_parse(
	const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);

#endif
