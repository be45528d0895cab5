/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How every command reads its command line. */
#ifndef RDMADUMP_CLI_COMMAND_H
#define RDMADUMP_CLI_COMMAND_H

#include <argp.h>

/*
 * argp_parse() with three additions: a misspelt long option ends the program with a suggestion, -h
 * is --help, and --option-list prints the options for programs. Returns what argp_parse() does.
 */
error_t rd_cli_parse(
	const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);

#endif
