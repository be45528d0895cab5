/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The archive of a result. */
#ifndef RDMADUMP_SELFTEST_PACK_H
#define RDMADUMP_SELFTEST_PACK_H

#include <rdmadump/error.h>
#include <stddef.h>

/*
 * Writes the files `file`, which are in the directory `dir_fd`, to `fd`, below the directory
 * `base`. Names are `stride` bytes apart. 0, or -1 with RD_CLASS_OUTPUT.
 */
int pack_write(int fd, const char *base, int dir_fd, const char *file, size_t stride,
	unsigned int n, struct rd_error *err);
/*
 * Reads the file `name` of an archive. Returns 0 with its bytes, which the caller frees, or -1 with
 * RD_CLASS_DEVICE.
 */
int pack_read(const char *path, const char *name, char **bytes, size_t *n, struct rd_error *err);

#endif
