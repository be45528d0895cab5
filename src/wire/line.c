/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A line of text in a buffer of fixed size; what does not fit is cut off. */
#include "text.h"
#include <arpa/inet.h>
#include <rdmadump/printable.h>

void rd_line_add(struct rd_line *line, const char *fmt, ...)
{
	size_t left = line->capacity - line->used;
	int n = RD_FORMAT(line->buf + line->used, left, fmt);

	if (n > 0)
		line->used += (size_t)n < left ? (size_t)n : left - 1;
}

void rd_line_address(struct rd_line *line, const uint8_t *address, unsigned int length)
{
	char text[INET6_ADDRSTRLEN];

	if (length == 6)
		rd_line_add(line, "%02x:%02x:%02x:%02x:%02x:%02x", address[0], address[1],
			address[2], address[3], address[4], address[5]);
	else if (inet_ntop(length == 4 ? AF_INET : AF_INET6, address, text, sizeof(text)))
		rd_line_add(line, "%s", text);
}
