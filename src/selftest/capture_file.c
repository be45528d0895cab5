/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Encodes kept frames as pcapng. */
#include "capture_file.h"
#include <rdmadump/document.h>
#include <rdmadump/format.h>
#include <stdio.h>
#include <stdlib.h>

int capture_file(
	const struct rd_selftest *st, const struct rd_probe_result *r, uint8_t **bytes, size_t *n)
{
	char name[RD_NAME_MAX + 8];
	const struct rd_section section = {.application = rd_program()};
	const struct rd_iface iface = {.link = st->port->link,
		.name = name,
		.description = "software clock",
		.speed = st->port->speed};
	struct rd_encoder e;
	struct rd_error err;
	size_t size, used;
	uint8_t *to;

	snprintf(name, sizeof(name), "%s:%u", st->device->name, st->port->num);
	if (rd_encoder_init(&e, "pcapng", NULL, &section, &iface, 1, &err) < 0)
		return -1;
	size = rd_encoder_header_bound(&e);
	for (unsigned int i = 0; i < r->n_frames; i++)
		size += rd_encoder_bound(&e, r->frame[i].caplen);
	to = malloc(size);
	if (!to)
		return -1;
	*n = e.format->header(&e, to, size);
	for (unsigned int i = 0; i < r->n_frames; i++) {
		const struct rd_frame frame = {.data = r->bytes + r->frame[i].at,
			.caplen = r->frame[i].caplen,
			.len = r->frame[i].len,
			.ts_ns = r->frame[i].ts_ns};

		e.format->frames(&e, &frame, 1, to + *n, size - *n, &used);
		*n += used;
	}
	*bytes = to;
	return 0;
}
