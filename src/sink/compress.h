/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compression of a file block by block. Each block is flushed, so that the file of a killed capture
 * is readable up to its last block. gzip: each block is a separate member (RFC 1952). zstd: one
 * frame (RFC 8878), because Wireshark 4.0 reads only the first frame.
 */
#ifndef RDMADUMP_SINK_COMPRESS_H
#define RDMADUMP_SINK_COMPRESS_H

#include <rdmadump/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compressor;

/* The place of a block in its file. */
enum block {
	BLOCK_FIRST,
	BLOCK_OTHER,
	BLOCK_LAST,
	BLOCK_LAST_BROKEN, /* blocks were removed from the file: the compressor's state does not
			      match it */
};

/* One row per compression; ended by a row without a name. */
struct compression {
	const char *name;   /* as in --compress */
	const char *suffix; /* ".gz" */
	int level, level_min, level_max;
	struct compressor *(*open)(int level);
	bool rewritable; /* whether the length of the first block's output does not depend on the
			    content */
	/* Largest output for a block of len bytes. */
	size_t (*bound)(struct compressor *c, size_t len);
	/*
	 * Returns the length of its output at `to`; 0 if the library failed, or for an empty first
	 * block.
	 */
	size_t (*pack)(struct compressor *c, uint8_t *to, size_t size, const uint8_t *from,
		size_t len, enum block block);
	void (*close)(struct compressor *c);
};

extern const struct compression compressions[];

#endif
