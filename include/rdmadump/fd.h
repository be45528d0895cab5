/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* File descriptors that may not be open. */
#pragma once

#include <unistd.h>

/* Closes it, unless it is -1, which it becomes. */
static inline void rd_fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
