/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads files of one value, in /proc and /sys. */
#include "../device/sysfs.h"
#include "parts.h"
#include <ctype.h>

int read_value(char *buf, size_t size, const char *path)
{
	int n = (int)rd_sysfs_file(buf, size - 1, "%s", path);

	while (n > 0 && isspace((unsigned char)buf[n - 1]))
		buf[--n] = '\0';
	return n;
}
