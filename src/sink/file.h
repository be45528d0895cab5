/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One capture file from header to trailer: of complete records, even when the disk is full. */
#pragma once

#include "output.h"

#define FILE_MARKS 128

/* Frames of each interface, and of all. */
struct frame_counts {
	uint64_t of[RD_IFACES_MAX], all;
};

/* Complete records that follow each other. */
struct records {
	size_t len;  /* bytes */
	size_t last; /* offset of the last one */
	struct frame_counts frames;
};

struct file_mark {
	uint64_t offset, bytes; /* the start of a block; bytes of records before it */
	struct frame_counts frames;
};

struct file {
	struct output out;
	const struct rd_encoder *encoder;
	uint8_t *text; /* buffer for header and trailer */
	size_t text_room, header_len;
	uint8_t *facts; /* buffer for one fact */
	size_t facts_room;
	uint64_t bytes;		    /* header and records, before compression */
	struct frame_counts frames; /* in the file */
	struct file_mark marks[FILE_MARKS];
	unsigned int n_marks;
};

int file_init(
	struct file *f, const struct rd_sink_config *config, size_t block, struct rd_error *err);
void file_fini(struct file *f);

/*
 * After output_open(): truncates the file, writes its header, and facts (may be NULL) if there is
 * room for them. Returns 0, or -1 with RD_CLASS_OUTPUT.
 */
int file_begin(struct file *f, const struct rd_facts *facts, struct rd_error *err);
/*
 * Checks whether another program removed or truncated the file. If so, all its frames count as
 * unwritten, and ENOENT or ESTALE is returned. Else 0.
 */
int file_check(struct file *f);
/*
 * Writes records. On an error the file is truncated after a complete record, with room for a
 * trailer, and its counts are corrected. Returns 0 or an errno.
 */
int file_write(struct file *f, const uint8_t *data, const struct records *records);
/*
 * Writes what the back end has buffered; errors as file_write(). last: no more records follow, and
 * from now on nothing is buffered.
 */
int file_flush(struct file *f, bool last);
/*
 * Writes facts (may be NULL), trailer and final header, after file_flush(), also after a failed
 * write. If there is no room for both, the trailer has priority. Returns 0 or an errno.
 */
int file_end(struct file *f, const struct rd_facts *facts, const struct rd_iface_stats *stats,
	bool failed);

/*
 * The complete records from p on until `bytes` bytes or `frames` frames are reached or exceeded, or
 * `len` ends.
 */
struct records records_walk(
	const struct rd_encoder *e, const uint8_t *p, size_t len, uint64_t bytes, uint64_t frames);
