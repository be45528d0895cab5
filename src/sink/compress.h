/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Compression of a file block by block: each block is a gzip member (RFC 1952) or a zstd frame
 * (RFC 8878) of its own, so that a file which ends between two blocks is a whole file.
 */
#ifndef RDMADUMP_SINK_COMPRESS_H
#define RDMADUMP_SINK_COMPRESS_H

#include <rdmadump/error.h>
#include <stddef.h>
#include <stdint.h>

struct compressor;

/* One row per kind; the table is ended by a row without a name. */
struct compression {
	const char *name;   /* as in --compress */
	const char *suffix; /* ".gz" */
	int level, level_min, level_max;
	struct compressor *(*open)(int level);
	/* Most that a block of len bytes can become, stored or compressed. */
	size_t (*bound)(struct compressor *c, size_t len);
	/* Each returns the length of the block at `to`, 0 if the library failed. */
	size_t (*block)(
		struct compressor *c, uint8_t *to, size_t room, const uint8_t *from, size_t len);
	/* Not compressed: its length depends on len alone, so it can be written over later. */
	size_t (*stored)(
		struct compressor *c, uint8_t *to, size_t room, const uint8_t *from, size_t len);
	void (*close)(struct compressor *c);
};

extern const struct compression compressions[];

#endif
