/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads small files of /proc and /sys. */
#include "parts.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int read_text(char *buf, size_t size, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), errnum;
	size_t n = 0;
	ssize_t got = 0;

	buf[0] = '\0';
	if (fd < 0)
		return -1;
	while (n + 1 < size && (got = read(fd, buf + n, size - 1 - n)) > 0)
		n += (size_t)got;
	errnum = errno;
	close(fd);
	errno = errnum;
	buf[n] = '\0';
	return got < 0 ? -1 : (int)n;
}

int read_value(char *buf, size_t size, const char *path)
{
	int n = read_text(buf, size, path);

	while (n > 0 && isspace((unsigned char)buf[n - 1]))
		buf[--n] = '\0';
	return n;
}
