/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies a capture as pcapng and adds comments to some of its frames. Frames, their times, lengths
 * and order are unchanged; so is every block of a pcapng file that gets no comment.
 */
#pragma once

#include <rdmadump/format.h>

/* Maximum number of comments on one frame; a further one says how many are left out. */
#define RD_FRAME_COMMENTS 32

struct rd_comment {
	uint64_t frame; /* as readers count frames: from 1, over all files */
	size_t item;	/* for text() */
};

struct rd_annotation {
	const struct rd_comment *comments; /* ordered by frame */
	size_t n_comments;
	const char *application; /* in the section header, if the input was not a pcapng file */
	/* UTF-8 text of an item, to be freed by the caller; NULL: out of memory. */
	char *(*text)(const void *ctx, size_t item);
	const void *text_ctx;
	/* Called with the bytes of the copy; -1 with errno on an error. */
	int (*put)(void *ctx, const void *data, size_t len);
	void *put_ctx;
	/* Called at intervals; NULL: never. size 0: unknown. */
	void (*progress)(void *ctx, uint64_t done, uint64_t size);
	void *progress_ctx;
	/* State, zero before the first file: several files become one, section after section. */
	uint64_t frames;  /* copied */
	uint64_t noted;	  /* of these, frames that got a comment */
	uint64_t too_big; /* would have got one, but their blocks would be too large for readers */
	size_t at;	  /* the first comment that is not used yet */
};

/*
 * Copies all frames that a reader finds in the bytes of `read`. Returns 0; 1 with *err if the file
 * is damaged or ends early: all before that is copied; -1 with *err: RD_CLASS_DEVICE if it is not a
 * capture, RD_CLASS_OUTPUT if put() failed, RD_CLASS_PARTIAL if there is no memory.
 */
int rd_annotate(struct rd_annotation *a, rd_read_fn *read, void *read_ctx, const char *name,
	struct rd_error *err);
/* The same for a file, which may be compressed. */
int rd_annotate_file(struct rd_annotation *a, const char *path, struct rd_error *err);
