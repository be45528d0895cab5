/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies a capture file, compressed or not, with changes. */
#include "stream.h"
#include <rdmadump/rewrite.h>

int rd_rewrite_file(struct rd_rewrite *w, const char *path, struct rd_error *err)
{
	struct stream *stream;
	int rc;

	if (stream_open(&stream, path, err) < 0)
		return -1;
	rc = rd_rewrite(w, stream_read, stream, path, err);
	stream_close(stream);
	return rc;
}
