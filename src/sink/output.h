/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A file, device or pipe that blocks of bytes are written to, compressed or not. */
#ifndef RDMADUMP_SINK_OUTPUT_H
#define RDMADUMP_SINK_OUTPUT_H

#include "compress.h"
#include <rdmadump/error.h>
#include <rdmadump/outfile.h>
#include <rdmadump/sink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output;
struct stage;

/*
 * How bytes reach the file. A back end may keep bytes back that it has taken, until flush();
 * out->offset counts what was taken. When it fails, out->offset is what the file really has, which
 * may be less than what earlier calls have taken, and from there on the file is written by
 * write(2).
 */
struct output_ops {
	const char *name;
	/* Both return 0 or an errno. */
	int (*write)(struct output *out, const uint8_t *data, size_t len);
	int (*flush)(struct output *out);
	/* Bytes that are surely in the file: their writes have succeeded. */
	uint64_t (*completed)(const struct output *out);
};

struct output {
	int fd;
	struct rd_outfile file; /* not open for stdout */
	bool regular;		/* can be cut and rewritten */
	bool grown;		/* another program writes to it as well; reported once */
	uint64_t offset;	/* bytes in the file so far */
	const char *path;
	const struct output_ops *ops; /* of this file */
	struct stage *stage; /* of O_DIRECT; NULL: everything goes through the page cache */
	bool behind;	     /* the writer is behind; see output_set_behind() */
	uint64_t cleaned;    /* up to here the page cache was asked to write out and forget */
	uint64_t synced;     /* up to here it is on the disk, with --sync periodic */
	/* Set once and kept from file to file. */
	enum rd_write_mode mode;
	enum rd_sync sync;
	bool patient;
	const struct compression *compression; /* NULL: not compressed */
	struct compressor *compressor;
	uint8_t *packed;
	size_t packed_room;
};

/* Prepares for blocks of up to `block` bytes. */
int output_init(struct output *out, const struct rd_sink_config *config, size_t block,
	struct rd_error *err);
void output_fini(struct output *out);

/* Opens or creates the file, or takes stdout for "-"; changes nothing that exists. */
int output_open(
	struct output *out, const char *path, const struct rd_inputs *inputs, struct rd_error *err);
/* An existing file becomes private: rd_outfile_make_private(). */
void output_make_private(const struct output *out);
/* Empties the file. */
int output_begin(struct output *out, struct rd_error *err);
/* Closes the file, and removes it if output_open() created it. */
void output_abandon(struct output *out);
/*
 * Whether the file still is what was written: 0, ENOENT (removed by another program) or ESTALE
 * (truncated by one). One system call.
 */
int output_check(struct output *out);
/*
 * Writes a block; returns how many of the bytes that the file got are of it: all of them (len, or
 * what it was compressed to), or less on an error (errno in *errnum, *whole false). Then
 * out->offset may be less than it was: see struct output_ops.
 */
size_t output_write(struct output *out, const void *data, size_t len, bool *whole, int *errnum);
/* The same for a file's first block. */
size_t output_write_first(
	struct output *out, const void *data, size_t len, bool *whole, int *errnum);
/* The same for its last one (len may be 0); broken: output_cut() has taken bytes away. */
size_t output_write_last(
	struct output *out, const void *data, size_t len, bool broken, bool *whole, int *errnum);
/* From here on blocks may be kept back, if that is how the file is written; what is kept back is
 * written first when it ends: 0 or an errno, as output_write(). */
void output_stream_begin(struct output *out);
int output_stream_end(struct output *out);
/* Writes what was kept back. 0 or an errno, as output_write(). */
int output_flush(struct output *out);
/* True if nothing is kept back. */
bool output_is_flushed(const struct output *out);
/* Whether the writer is behind: data that the disk is too slow for may then use the page cache. */
void output_set_behind(struct output *out, bool behind);
/* Overwrites what output_write_first() wrote by a block of the same length, where that is possible:
 * not in a pipe, not with zstd. */
void output_rewrite_first(struct output *out, const void *data, size_t len);
/* Cuts a regular file to `size` bytes and continues there. */
void output_cut(struct output *out, uint64_t size);
int output_close(struct output *out, struct rd_error *err);

/* output_buffered.c: write(2), for all that can be written to. */
extern const struct output_ops output_buffered;
/* Reads what was written at `offset`; the number of bytes got. */
size_t output_read_back(const struct output *out, void *data, size_t len, uint64_t offset);

/* output_direct.c: O_DIRECT in large pieces, the last part of a block by write(2). */
extern const struct output_ops output_direct;
/* uring: the next piece is gathered while one is written. NULL with errno where io_uring is not
 * available or memory is short. */
struct stage *stage_open(bool uring);
void stage_close(struct stage *st);
bool stage_is_flushed(const struct stage *st);
/* Continues where write(2) has ended. False (errno): the file system does not do O_DIRECT. */
bool stage_begin(struct output *out);
/* After a flush: continues with write(2). 0 or an errno. */
int stage_end(struct output *out);

/* output_uring.c: one asynchronous write at a time. */
struct uring;
/* NULL with errno: not built in, not allowed, or the kernel has none. */
struct uring *uring_open(void);
void uring_close(struct uring *u);
void uring_start(struct uring *u, int fd, const void *data, size_t len, uint64_t offset);
/* The result of the write that was started: bytes, or a negative errno. */
ssize_t uring_wait(struct uring *u);

#endif
