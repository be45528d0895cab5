/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A file, device or pipe that is written in blocks, compressed or not. */
#pragma once

#include <rdmadump/sink.h>

/*
 * Compression of a file block by block. Each block is flushed, so that the file of a killed capture
 * is readable up to its last block. gzip: each block is a separate member (RFC 1952). zstd: one
 * frame (RFC 8878), because Wireshark 4.0 reads only the first frame.
 */

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
	int level_max;
	struct compressor *(*open)(int level);
	bool rewritable; /* whether the length of the first block's output does not depend on the
			    content */
	/* Largest output for a block of len bytes. */
	size_t (*bound)(struct compressor *c, size_t len);
	/* Returns the length of its output at `to`; 0: a failure, or an empty first block. */
	size_t (*pack)(struct compressor *c, uint8_t *to, size_t size, const uint8_t *from,
		size_t len, enum block block);
};

extern const struct compression compressions[];
void compressor_close(struct compressor *c);

struct output;
struct stage;

/*
 * A back end: how bytes reach the file. It may buffer bytes that it has accepted until flush();
 * out->offset counts the accepted ones. On an error it sets out->offset to the size that the file
 * really has, which may be less than what earlier calls accepted, and the rest of the file is
 * written by write(2).
 */
struct output_ops {
	/* Both return 0 or an errno. */
	int (*write)(struct output *out, const uint8_t *data, size_t len);
	int (*flush)(struct output *out);
	/* Bytes whose writes have succeeded. */
	uint64_t (*completed)(const struct output *out);
};

struct output {
	int fd;
	struct rd_outfile file; /* not open for stdout */
	bool regular;		/* can be truncated and rewritten */
	/* Of the next file: rd_outfile_open(), or one of those for names that are made here. */
	int (*open)(struct rd_outfile *f, const char *path, const struct rd_inputs *inputs,
		struct rd_error *err);
	bool grown;	  /* another program also writes to it; reported once */
	uint64_t offset;  /* bytes in the file so far */
	uint64_t checked; /* of them, at the last check */
	bool knows_holes;
	const char *path;
	const struct output_ops *ops; /* of the current file */
	struct stage *stage; /* buffers of O_DIRECT; NULL: all writes go through the page cache */
	bool behind;	     /* the writer is behind; see output_set_behind() */
	uint64_t cleaned;    /* writeback was started and the cache dropped up to here */
	uint64_t synced;     /* with --sync periodic: on the disk up to here */
	/* Set once for all files. */
	enum rd_write_mode mode;
	enum rd_sync sync;
	bool patient;
	const struct compression *compression; /* NULL: not compressed */
	struct compressor *compressor;
	uint8_t *packed;
	size_t packed_room;
};

/*
 * Prepares for blocks of up to `block` bytes. Returns 0, or -1 with RD_CLASS_USAGE or
 * RD_CLASS_OUTPUT; call output_fini() in both cases.
 */
int output_init(struct output *out, const struct rd_sink_config *config, size_t block,
	struct rd_error *err);
void output_fini(struct output *out);

/*
 * Opens or creates the file, or uses stdout for "-"; an existing file is not changed. Returns 0, 1
 * if out->open() did, or -1 with RD_CLASS_OUTPUT or RD_CLASS_USAGE: also if another capture writes
 * to it.
 */
int output_open(
	struct output *out, const char *path, const struct rd_inputs *inputs, struct rd_error *err);
/* Makes an existing file private: rd_outfile_make_private(). */
void output_make_private(const struct output *out);
/* Truncates the file. Returns 0 or -1. */
int output_begin(struct output *out, struct rd_error *err);
/* Closes the file, and removes it if output_open() created it. */
void output_abandon(struct output *out);
/* Whether other programs changed the file: 0, ENOENT (removed), ESTALE (truncated). One syscall. */
int output_check(struct output *out);
/*
 * Writes a block (len of the first and last one may be 0). Returns 0 or an errno: out->offset then
 * shows how much of it is in the file, after compression, and may be smaller than before: see
 * struct output_ops.
 */
int output_write(struct output *out, const void *data, size_t len, enum block block);
/*
 * From now on the back end may buffer blocks. output_stream_end() writes what is buffered, and ends
 * this; it returns 0 or an errno, as output_write().
 */
void output_stream_begin(struct output *out);
int output_stream_end(struct output *out);
/* True if nothing is buffered. */
bool output_is_flushed(const struct output *out);
/* Sets whether the writer is behind: with a slow disk, data may then go to the page cache. */
void output_set_behind(struct output *out, bool behind);
/* Replaces the first block by one of the same length, if possible: not in a pipe, not with zstd. */
void output_rewrite_first(struct output *out, const void *data, size_t len);
/* Truncates a regular file to `size` bytes and continues there. */
void output_cut(struct output *out, uint64_t size);
int output_close(struct output *out, struct rd_error *err);

/* output_buffered.c: write(2), for every kind of output. */
extern const struct output_ops output_buffered;
/* Reads back bytes at `offset`; returns the number of bytes read. */
size_t output_read_back(const struct output *out, void *data, size_t len, uint64_t offset);

/* output_direct.c: O_DIRECT in large blocks, the last partial block by write(2). */
extern const struct output_ops output_direct;
/* NULL: out of memory. */
struct stage *stage_open(void);
void stage_close(struct stage *st);
/* Continues at the end of the file. False with errno: the file system does not support O_DIRECT. */
bool stage_begin(struct output *out);
/*
 * The file has out->offset bytes: continues there with write(2). Returns errnum, or the errno of a
 * failure.
 */
int stage_end(struct output *out, int errnum);
