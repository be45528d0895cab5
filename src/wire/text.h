/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text of packets: a line that grows until its room is full (line.c), and what is added to it. */
#ifndef RDMADUMP_WIRE_TEXT_H
#define RDMADUMP_WIRE_TEXT_H

#include <rdmadump/packet.h>

struct rd_line {
	char *buf;
	size_t room, used;
};

void rd_line_add(struct rd_line *line, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An address of `length` 4 or 16 bytes, a MAC address of 6. */
void rd_line_address(struct rd_line *line, const uint8_t *address, unsigned int length);
/* Fills up with blanks to a column, at least one. */
void rd_line_column(struct rd_line *line, size_t column);

/* What is said of a packet behind its addresses. */
void rd_line_mad(struct rd_line *line, const struct rd_packet *p);
void rd_line_other(struct rd_line *line, const struct rd_packet *p);

#endif
