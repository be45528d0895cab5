/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads devices from a bundle. */
#include "read_back.h"

int bundle_read_back(
	struct rd_bundle *b, const char *path, const char **sysroot, struct rd_error *err)
{
	if (!path)
		return 0;
	if (**sysroot)
		return rd_fail(err, RD_CLASS_USAGE, 0, "give one of them",
			"--bundle '%s' and --sysroot '%s' both name a tree", path, *sysroot);
	if (rd_bundle_open(b, path, RD_BUNDLE_TREE, err) < 0)
		return -1;
	*sysroot = b->sysroot;
	return 0;
}

void bundle_read_end(struct rd_bundle *b, const char *path)
{
	if (path)
		rd_bundle_close(b);
}
