/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A file, device or pipe that bytes are written to. */
#ifndef RDMADUMP_SINK_OUTPUT_H
#define RDMADUMP_SINK_OUTPUT_H

#include <rdmadump/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
	int fd;
	bool regular;	 /* can be cut and rewritten */
	uint64_t offset; /* bytes written so far */
	const char *path;
};

/* Creates the file (0600) or takes stdout for "-". */
int output_open(struct output *out, const char *path, struct rd_error *err);
/* Writes all; returns what was written, less than len only on an error (errno in *errnum). */
size_t output_write(struct output *out, const void *data, size_t len, int *errnum);
/* Cuts a regular file to `size` bytes and goes on behind them. */
void output_cut(struct output *out, uint64_t size);
/* Overwrites the beginning of a regular file. */
void output_rewrite_start(struct output *out, const void *data, size_t len);
int output_close(struct output *out, struct rd_error *err);

#endif
