/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program rdmadump-analyze, which `rdmadump analyze` runs. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	return rd_cli_main("analyze", rd_cmd_analyze, argc, argv);
}
