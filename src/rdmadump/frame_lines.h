/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints a line per frame. */
#ifndef RDMADUMP_CLI_FRAME_LINES_H
#define RDMADUMP_CLI_FRAME_LINES_H

#include <rdmadump/packet.h>
#include <stdio.h>

/* State between two lines; all zeros before the first. */
struct frame_lines {
	bool begun, colours;
	uint64_t base_ns; /* time of the first line, or of the last one */
};

/* `style` is RD_LINE_*. The caller checks the stream for write errors. */
void frame_line_put(FILE *out, struct frame_lines *lines, const struct rd_frame *frame,
	enum rd_link link, unsigned int style);

#endif
