/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program rdmadump-selftest, which `rdmadump selftest` runs. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	return rd_cli_main("selftest", rd_cmd_selftest, argc, argv);
}
