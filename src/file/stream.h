/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bytes of a file or pipe, decompressed if they are gzip (RFC 1952) or zstd (RFC 8878). */
#pragma once

#include <rdmadump/error.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stream;

/* "-" is standard input. Returns 0, or -1 with RD_CLASS_DEVICE. Close it with stream_close(). */
int stream_open(struct stream **s, const char *path, struct rd_error *err);
/*
 * A rd_read_fn, ctx is the stream: returns up to `capacity` bytes, 0 at the end, -1 on a fault,
 * RD_READ_LATER after stream_never_wait(). All data before a fault are returned first; the fault is
 * then repeated at each call.
 */
ssize_t stream_read(void *ctx, uint8_t *buf, size_t capacity, struct rd_error *err);
/* A descriptor to poll for more bytes; -1: a file, on which reading never blocks for long. */
int stream_fd(const struct stream *s);
/* From now on stream_read() returns RD_READ_LATER for a pipe without bytes. */
void stream_never_wait(struct stream *s);
/* "standard input" or the path. */
const char *stream_name(const struct stream *s);
/* "gzip", "zstd", or "" if it is not compressed. */
const char *stream_compression(const struct stream *s);
/* Bytes of the file consumed, and its size (0: unknown), for a progress bar. */
void stream_progress(const struct stream *s, uint64_t *done, uint64_t *size);
void stream_close(struct stream *s);
