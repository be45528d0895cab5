/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --bundle of the commands that read devices: a bundle's sysfs tree in place of --sysroot. */
#ifndef RDMADUMP_CLI_BUNDLE_READ_BACK_H
#define RDMADUMP_CLI_BUNDLE_READ_BACK_H

#include <rdmadump/bundle.h>

/*
 * Unpacks the bundle `path` and lets *sysroot, which must be "", point to its tree. path NULL: does
 * nothing. 0, or -1 with the error. bundle_read_end() after success.
 */
int bundle_read_back(
	struct rd_bundle *b, const char *path, const char **sysroot, struct rd_error *err);
/* Removes what was unpacked. */
void bundle_read_end(struct rd_bundle *b, const char *path);

#endif
