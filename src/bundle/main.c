/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program rdmadump-bundle, which `rdmadump bundle` runs. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	return rd_cli_main("bundle", rd_cmd_bundle, argc, argv);
}
