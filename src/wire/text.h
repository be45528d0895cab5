/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines of text for packets: a line in a buffer of fixed size (line.c), and the parts of it. */
#pragma once

#include <rdmadump/packet.h>

struct rd_line {
	char *buf;
	size_t capacity, used;
};

void rd_line_add(struct rd_line *line, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An address: `length` is 4 or 16 for IP, 6 for a MAC address. */
void rd_line_address(struct rd_line *line, const uint8_t *address, unsigned int length);

/* The description of a packet that follows its addresses. */
void rd_line_mad(struct rd_line *line, const struct rd_packet *p);
void rd_line_mac_control(struct rd_line *line, const struct rd_packet *p);
void rd_line_other(struct rd_line *line, const struct rd_packet *p);
