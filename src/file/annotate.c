/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies a capture file, compressed or not, with comments on frames. */
#include "stream.h"
#include <rdmadump/annotate.h>

#define PROGRESS_BYTES (64u << 20) /* between two updates of the progress */

struct input {
	struct stream *stream;
	const struct rd_annotation *a;
	uint64_t bytes; /* since the last update */
};

static ssize_t read_input(void *ctx, uint8_t *buf, size_t capacity, struct rd_error *err)
{
	struct input *in = ctx;
	ssize_t n = stream_read(in->stream, buf, capacity, err);
	uint64_t done, size;

	in->bytes += n > 0 ? (uint64_t)n : 0;
	if (in->bytes < PROGRESS_BYTES || !in->a->progress)
		return n;
	in->bytes = 0;
	stream_progress(in->stream, &done, &size);
	in->a->progress(in->a->progress_ctx, done, size);
	return n;
}

int rd_annotate_file(struct rd_annotation *a, const char *path, struct rd_error *err)
{
	struct input in = {.a = a};
	int ret;

	if (stream_open(&in.stream, path, err) < 0)
		return -1;
	ret = rd_annotate(a, read_input, &in, path, err);
	stream_close(in.stream);
	return ret;
}
