/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints one line per frame: times relative to another line, NAKs in colour. */
#include "capture.h"

#define LINE_MAX 1024

static enum rd_colour colour_of(const struct rd_frame *frame, enum rd_link link)
{
	struct rd_packet p;
	struct rd_aeth aeth;

	rd_packet_parse(link, frame->data, frame->caplen, frame->len, &p);
	if (!rd_packet_aeth(&p, &aeth))
		return RD_COLOUR_NONE;
	return aeth.kind == RD_AETH_NAK	  ? RD_COLOUR_PROBLEM
	       : aeth.kind == RD_AETH_RNR ? RD_COLOUR_WARNING
					  : RD_COLOUR_NONE;
}

void frame_line_put(FILE *out, struct frame_lines *lines, const struct rd_frame *frame,
	enum rd_link link, unsigned int style)
{
	struct rd_frame shown = *frame;
	char text[LINE_MAX];

	if (!lines->begun) {
		lines->begun = true;
		lines->colours = rd_cli_has_colours(out);
		lines->base_ns = frame->ts_ns;
	}
	if (style & (RD_LINE_SINCE_LAST | RD_LINE_SINCE_FIRST))
		shown.ts_ns -= lines->base_ns;
	if (style & RD_LINE_SINCE_LAST)
		lines->base_ns = frame->ts_ns;
	rd_packet_line(text, sizeof(text), &shown, link, style);
	rd_cli_put_line(out, lines->colours ? colour_of(frame, link) : RD_COLOUR_NONE, text);
}
