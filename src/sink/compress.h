/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compression of a file block by block, each flushed, so that a killed capture can be read up to
 * its last block. gzip: each block is a member of its own (RFC 1952). zstd: one frame (RFC 8878),
 * because Wireshark 4.0 reads no second one.
 */
#ifndef RDMADUMP_SINK_COMPRESS_H
#define RDMADUMP_SINK_COMPRESS_H

#include <rdmadump/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compressor;

/* One row per kind; the table is ended by a row without a name. */
struct compression {
	const char *name;   /* as in --compress */
	const char *suffix; /* ".gz" */
	int level, level_min, level_max;
	struct compressor *(*open)(int level);
	bool rewritable; /* whether first() is as long whatever the bytes are */
	/* Before each file. False if the library failed. */
	bool (*begin)(struct compressor *c);
	/* Most that a block of len bytes can become. */
	size_t (*bound)(struct compressor *c, size_t len);
	/*
	 * Each returns the length of what it wrote at `to`, 0 if the library failed. first(): the
	 * file's first block. last(): its last one; broken: behind a block that the file does not
	 * have as the compressor made it.
	 */
	size_t (*first)(
		struct compressor *c, uint8_t *to, size_t room, const uint8_t *from, size_t len);
	size_t (*block)(
		struct compressor *c, uint8_t *to, size_t room, const uint8_t *from, size_t len);
	size_t (*last)(struct compressor *c, uint8_t *to, size_t room, const uint8_t *from,
		size_t len, bool broken);
	void (*close)(struct compressor *c);
};

extern const struct compression compressions[];

#endif
