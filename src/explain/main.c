/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program rdmadump-explain, which `rdmadump explain` runs. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	return rd_cli_main("explain", rd_cmd_explain, argc, argv);
}
