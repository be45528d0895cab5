/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The table of commands; the first word chooses, capture is the default. */
#include "cli.h"
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct rd_command rd_commands[] = {
	{"capture", "[OPTION...]", "capture what crosses a port into a file (the default)",
		rd_cmd_capture},
	{"list", "[OPTION...]", "devices and ports, and whether they can be captured", rd_cmd_list},
	{0},
};

int main(int argc, char **argv)
{
	static char full_name[64];
	const struct rd_command *c = &rd_commands[0];

	argp_err_exit_status = RD_CLASS_USAGE;
	argp_program_version_hook = NULL;
	program_invocation_name = program_invocation_short_name;
	if (argc > 1)
		while (c->name && strcmp(c->name, argv[1]))
			c++;
	if (argc < 2 || !c->name) {
		argv[0] = program_invocation_short_name;
		return rd_cmd_capture(argc, argv);
	}
	snprintf(full_name, sizeof(full_name), "rdmadump %s", c->name);
	argv[1] = full_name;
	return c->run(argc - 1, argv + 1);
}
