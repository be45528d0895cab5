/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tree_tool SYSROOT: the part "sysroot" of a bundle, of a copied tree, as tar on stdout. */
#include "bundle/parts.h"
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rd_devices devices;
	struct rd_error err;
	int rc;

	if (argc != 2 || rd_devices_load(&devices, argv[1], &err) < 0)
		return 1;
	rc = part_sysroot(&devices, STDOUT_FILENO, &err);
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	rd_devices_free(&devices);
	return rc < 0;
}
