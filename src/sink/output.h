/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A file, device or pipe that blocks of bytes are written to, compressed or not. */
#ifndef RDMADUMP_SINK_OUTPUT_H
#define RDMADUMP_SINK_OUTPUT_H

#include "compress.h"
#include <rdmadump/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct output {
	int fd;
	bool regular;	 /* can be cut and rewritten */
	uint64_t offset; /* bytes in the file so far */
	const char *path;
	/* Set once and kept from file to file; NULL: not compressed. */
	const struct compression *compression;
	struct compressor *compressor;
	uint8_t *packed;
	size_t packed_room;
};

/* Prepares for blocks of up to `block` bytes. name: a row of compressions[], NULL for none. */
int output_init(
	struct output *out, const char *name, int level, size_t block, struct rd_error *err);
void output_fini(struct output *out);

/* Creates the file (0600) or takes stdout for "-". owner, group: (uid_t)-1 leaves them. */
int output_open(
	struct output *out, const char *path, uid_t owner, gid_t group, struct rd_error *err);
/*
 * Writes a block; returns how many of the bytes that the file got are of it: all of them (len, or
 * what it was compressed to), or less on an error (errno in *errnum, *whole false).
 */
size_t output_write(struct output *out, const void *data, size_t len, bool *whole, int *errnum);
/* The same for a file's first block. */
size_t output_write_first(
	struct output *out, const void *data, size_t len, bool *whole, int *errnum);
/* The same for its last one (len may be 0); broken: output_cut() has taken bytes away. */
size_t output_write_last(
	struct output *out, const void *data, size_t len, bool broken, bool *whole, int *errnum);
/* Whether output_rewrite_first() can be. */
bool output_is_rewritable(const struct output *out);
/* Overwrites what output_write_first() wrote by a block of the same length. */
void output_rewrite_first(struct output *out, const void *data, size_t len);
/* Cuts a regular file to `size` bytes and goes on behind them. */
void output_cut(struct output *out, uint64_t size);
int output_close(struct output *out, struct rd_error *err);

#endif
